package approvals

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// warningsAbout returns what is deceptive in a call: characters that are not visible, and names that look like others.
func warningsAbout(item *Item, names func() []string) (list []string) {
	if found := hiddenCharacters(item.Held.Arguments); len(found) > 0 {
		list = append(list, "The arguments contain characters that are not visible: "+strings.Join(found, ", ")+".")
	}
	if names == nil {
		return list
	}
	known := names()
	for _, name := range []string{item.Server, item.Held.Tool} {
		if len(name) > 200 {
			continue
		}
		like := slices.IndexFunc(known, func(other string) bool {
			return !strings.EqualFold(other, name) && skeleton(other) == skeleton(name)
		})
		if like >= 0 {
			list = append(list, fmt.Sprintf("The name %q looks like %q, but is another.", core.Visible(name), core.Visible(known[like])))
		}
	}
	return list
}

// hiddenCharacters returns the invisible characters in JSON text, escaped or not.
func hiddenCharacters(text string) (found []string) {
	add := func(s string) {
		for _, c := range s {
			switch core.InvisibleClass(c) {
			case "tag", "direction", "zero-width", "blank letter", "terminal control":
				if name := fmt.Sprintf("U+%04X", c); len(found) < 5 && !slices.Contains(found, name) {
					found = append(found, name)
				}
			}
		}
	}
	add(text)
	if strings.Contains(text, `\u`) {
		d := json.NewDecoder(strings.NewReader(text))
		for {
			token, err := d.Token()
			if err != nil {
				break
			}
			if s, ok := token.(string); ok {
				add(s)
			}
		}
	}
	return found
}

// skeleton returns a name with letters replaced by those that they look like.
func skeleton(name string) string {
	var b strings.Builder
	for _, c := range name {
		if like, ok := core.Lookalikes[c]; ok {
			c = like
		}
		switch {
		case core.InvisibleClass(c) != "":
			continue
		case c == '1' || c == 'I' || c == '|':
			c = 'l'
		case c == '0':
			c = 'o'
		}
		b.WriteRune(c)
	}
	return strings.ToLower(b.String())
}
