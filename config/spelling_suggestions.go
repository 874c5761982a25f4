package config

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

// maxPlaces limits the number of places in a suggestion; a key with more is typical of none.
const maxPlaces = 3

// placesOf returns the sections of the configuration that have a key called name, sorted:
// "'globalSettings'", "a server".
func placesOf(name string) []string {
	if places := keyPlaces()[name]; len(places) <= maxPlaces {
		return places
	}
	return nil
}

// keyPlaces maps each key to its sections, read from the schema on first use.
var keyPlaces = sync.OnceValue(func() map[string][]string {
	type object struct {
		Properties map[string]struct {
			Properties map[string]json.RawMessage
		}
	}
	var root struct {
		object
		Defs map[string]object `json:"$defs"`
	}
	if err := json.Unmarshal(schema, &root); err != nil {
		panic("config/schema.json: " + err.Error()) // it is embedded, and tests read it
	}
	places := map[string][]string{}
	for name, section := range root.Properties {
		places[name] = append(places[name], "the top-level object")
		for key := range section.Properties {
			places[key] = append(places[key], "'"+name+"'")
		}
	}
	for name, title := range map[string]string{"server": "a server", "tool": "a tool in 'tools' of a server", "profile": "a profile", "client": "a client in 'clients'"} {
		for key := range root.Defs[name].Properties {
			places[key] = append(places[key], title)
		}
	}
	for _, list := range places {
		slices.Sort(list)
	}
	return places
})

// nearest returns the known word that is most similar to word, or "" if none is close: equal
// ignoring case and separators, or within an edit distance of a third of its length.
func nearest(word string, known []string) string {
	best, distance := "", max(1, len(word)/3)+1
	for _, k := range known {
		d := editDistance(fold(word), fold(k))
		if d < distance {
			best, distance = k, d
		}
	}
	return best
}

func fold(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(s))
}

// editDistance counts insertions, deletions, substitutions and swaps of adjacent characters.
func editDistance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
