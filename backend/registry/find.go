package registry

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode"

	"drawbridge/backend/hub"
)

// Found is one tool that fits a question, the best first.
type Found struct {
	Item  Item
	Score float64
}

// Find ranks the tools of the view by how well they fit a question in plain words: BM25
// over names, titles, descriptions and arguments. server narrows it to one; "" is all.
func (v *View) Find(question, server string, most int) []Found {
	v.indexing.Do(func() { v.index = newIndex(v) })
	return v.index.find(v.items[IndexOf(hub.Tools)], question, server, most)
}

// index is made once for a view, when it is first asked.
type index struct {
	terms map[string][]posting
	size  []float64 // of each tool, in weighted words
	mean  float64
	names []string // lower-case public names
}

// posting is how much of a word a tool has.
type posting struct {
	tool   int
	weight float64
}

// What a word counts by where it stands.
const (
	weightName     = 4
	weightServer   = 2
	weightTitle    = 2
	weightText     = 1
	weightArgument = 0.7
	weightDetail   = 0.25
	weightSynonym  = 0.45
	maxIndexed     = 4096 // bytes of one text
)

func newIndex(v *View) *index {
	tools := v.items[IndexOf(hub.Tools)]
	x := &index{terms: map[string][]posting{}, size: make([]float64, len(tools)), names: make([]string, len(tools))}
	labels := map[string]string{}
	for _, o := range v.catalogs {
		labels[o.Server] = o.Label
	}
	total := 0.0
	for i, item := range tools {
		var about struct {
			Title       string `json:"title"`
			Description string `json:"description"`
			Annotations struct {
				Title string `json:"title"`
			} `json:"annotations"`
			InputSchema struct {
				Properties map[string]struct {
					Description string `json:"description"`
				} `json:"properties"`
			} `json:"inputSchema"`
		}
		_ = json.Unmarshal(item.Raw, &about) // what cannot be read is found by its name
		counts := map[string]float64{}
		add := func(text string, weight float64) {
			for _, w := range words(text) {
				counts[w] += weight
				x.size[i] += weight
			}
		}
		add(item.Name, weightName)
		add(item.Server+" "+labels[item.Server], weightServer)
		add(cmp.Or(about.Title, about.Annotations.Title), weightTitle)
		add(about.Description, weightText)
		for name, p := range about.InputSchema.Properties {
			add(name, weightArgument)
			add(p.Description, weightDetail)
		}
		for w, n := range counts {
			x.terms[w] = append(x.terms[w], posting{i, n})
		}
		x.names[i] = strings.ToLower(item.Public)
		total += x.size[i]
	}
	x.mean = total / max(1, float64(len(tools)))
	return x
}

// find is BM25 with the usual constants. A word's relatives count less than itself.
func (x *index) find(tools []Item, question, server string, most int) []Found {
	scores := map[int]float64{}
	wanted := map[string]float64{}
	for field := range strings.FieldsSeq(question) {
		list := words(strings.ToLower(field))
		if len(list) != 1 || len(x.terms[list[0]]) == 0 { // GitHub is one word where a server is called so
			list = words(field)
		}
		for _, w := range list {
			wanted[w] = 1
		}
	}
	for w := range wanted {
		for _, near := range relatives[w] {
			if wanted[near] == 0 {
				wanted[near] = weightSynonym
			}
		}
	}
	const k, b = 1.2, 0.6
	n := float64(len(tools))
	for w, want := range wanted {
		list := x.terms[w]
		idf := math.Log(1 + (n-float64(len(list))+0.5)/(float64(len(list))+0.5))
		for _, p := range list {
			scores[p.tool] += want * idf * p.weight * (k + 1) / (p.weight + k*(1-b+b*x.size[p.tool]/x.mean))
		}
	}
	exact := strings.ToLower(strings.TrimSpace(question))
	var found []Found
	for i, item := range tools {
		if server != "" && !strings.EqualFold(item.Server, server) {
			continue
		}
		score := scores[i]
		if x.names[i] == exact || strings.EqualFold(item.Name, exact) {
			score += 1000
		}
		if score > 0 || exact == "" {
			found = append(found, Found{item, score})
		}
	}
	slices.SortStableFunc(found, func(a, b Found) int { return cmp.Compare(b.Score, a.Score) })
	return found[:min(most, len(found))]
}

// words are the stems of a text: split where case and kind change, without what every
// sentence has.
func words(text string) []string {
	if len(text) > maxIndexed {
		text = strings.ToValidUTF8(text[:maxIndexed], "")
	}
	var list []string
	word := []rune{}
	end := func() {
		if w := strings.ToLower(string(word)); len(word) > 0 && !common[w] {
			list = append(list, stem(w))
		}
		word = word[:0]
	}
	runes := []rune(text)
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
			continue
		case i > 0 && unicode.IsUpper(r) && unicode.IsLower(runes[i-1]),
			i > 0 && i+1 < len(runes) && unicode.IsUpper(r) && unicode.IsDigit(runes[i-1]) && unicode.IsLower(runes[i+1]),
			i > 0 && i+1 < len(runes) && unicode.IsUpper(r) && unicode.IsUpper(runes[i-1]) && unicode.IsLower(runes[i+1]): // getURLParts
			end()
		}
		word = append(word, r)
	}
	end()
	return list
}

// stem takes the endings off that do not change what a word is about.
func stem(w string) string {
	for _, e := range []struct{ ending, instead string }{
		{"ies", "y"}, {"sses", "ss"}, {"shes", "sh"}, {"ches", "ch"}, {"xes", "x"},
		{"ation", "at"}, {"ations", "at"}, {"ings", ""}, {"ing", ""}, {"ers", "er"}, {"ed", ""}, {"es", "e"}, {"s", ""},
	} {
		base, ok := strings.CutSuffix(w, e.ending)
		if !ok || len(base)+len(e.instead) < 3 || e.ending == "s" && (strings.HasSuffix(base, "s") || strings.HasSuffix(base, "u") || strings.HasSuffix(base, "i")) {
			continue
		}
		w = base + e.instead
		if n := len(w); e.instead == "" && n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("lsz", rune(w[n-1])) {
			w = w[:n-1] // running, run
		}
		break
	}
	return strings.TrimSuffix(w, "e") // create, creating
}

var common = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`a an and any are as at be by can could do does for from get has have how i if in into is it its
		just let like me my need of on or our out please so some that the their them then there these this to up us use used uses using via want
		was we what when where which who will with would you your`) {
		m[w] = true
	}
	return m
}()

// relatives are words that mean nearly the same to who asks for a tool.
var relatives = func() map[string][]string {
	m := map[string][]string{}
	for _, line := range []string{
		"create add new make open insert register", "delete remove erase drop destroy trash", "update edit change modify set rename adjust",
		"list show enumerate browse display", "search find query look lookup locate", "read fetch view open load retrieve content", "write save store put",
		"send post deliver", "message msg text dm", "mail email e-mail inbox", "repository repo project", "directory folder dir", "file document",
		"database db sql", "table schema", "picture image photo screenshot", "pr pull merge", "issue ticket bug task", "comment reply note respond answer",
		"meeting event appointment calendar", "customer client contact person", "payment charge pay money", "invoice bill", "stop halt terminate kill shut", "start run launch execute begin boot",
		"upload attach", "download export", "copy duplicate clone fork", "move transfer", "weather forecast temperature", "route direction navigate way",
		"log logs", "error exception crash", "cluster pod container", "machine instance vm server", "song track music", "video clip film", "translate language",
		"user member account people", "assign owner", "schedule plan", "history past commit", "channel room", "web page site url", "refund reimburse", "cancel abort",
		"click press tap", "type enter fill", "metric statistic graph measure", "alert alarm monitor", "deploy release publish ship", "restart reboot", "count number many",
		"permission access share role", "diff compare difference", "summary overview", "cost price", "key secret token credential", "close resolve finish complete", "mute silence",
	} {
		list := words(line)
		for _, w := range list {
			for _, other := range list {
				if w != other && !slices.Contains(m[w], other) {
					m[w] = append(m[w], other)
				}
			}
		}
	}
	return m
}()
