package registry

import (
	"slices"
	"strings"
)

// asked is a word or phrase of a query with its synonyms. A tool scores by the best match among
// them.
type asked struct {
	near   []near
	weight float64
}

const (
	maxAsked     = 48 // words and phrases of a query
	withinPhrase = 0.4
)

// ask parses a query into its terms.
func (x *index) ask(question string) []asked {
	var said, stems []string
	for field := range strings.FieldsSeq(question) {
		list := split(field)
		if whole := split(strings.ToLower(field)); len(whole) == 1 && len(x.terms[stem(whole[0])]) > 0 {
			list = whole // "GitHub" is one word if a server has that name
		}
		said = append(said, list...)
	}
	for _, w := range said {
		stems = append(stems, stem(w))
	}
	t := thesaurus()
	list := forms(said, stems)
	had := map[string]bool{}
	phrase := 0 // index after the last matched phrase
	for i := 0; i < len(stems) && len(list) < maxAsked; i++ {
		for n := min(t.longest, len(stems)-i); n > 0; n-- {
			key := strings.Join(stems[i:i+n], " ")
			hints := t.hints[key]
			if len(hints) > 0 && !had["?"+key] {
				had["?"+key] = true
				list = append(list, asked{hints, nearHint})
			}
			if n > 1 && i >= phrase && len(t.near[key]) > 0 && !had[key] {
				had[key] = true
				phrase = i + n
				list = append(list, asked{t.near[key], 1})
			}
		}
		if key := apart(t, stems, i); key != "" && i >= phrase && !had[key] {
			had[key] = true
			list = append(list, asked{t.near[key], 1})
		}
		w := stems[i]
		if had[w] {
			continue
		}
		had[w] = true
		one := asked{near: t.near[w], weight: 1}
		if i < phrase {
			one = asked{weight: withinPhrase} // such as "get" in "get rid of"
		}
		if !common[said[i]] {
			one.near = x.standIns(w, one.near)
		} else if len(one.near) == 0 {
			continue
		}
		list = append(list, one)
	}
	return list
}

// particles can be separated from their verb, as in "take the old one out".
var particles = map[string]bool{"out": true, "off": true, "up": true, "down": true, "away": true, "back": true, "asid": true}

// apart returns the phrase of the verb at i and a particle up to six words later, or "".
func apart(t *meanings, stems []string, i int) string {
	for j := i + 2; j < min(len(stems), i+7); j++ {
		if particles[stems[j]] {
			if key := stems[i] + " " + stems[j]; len(t.near[key]) > 0 {
				return key
			}
		}
	}
	return ""
}

// Tool verbs that a query for several items (ofMany) or for a particular one (ofOne) implies.
var (
	ofMany = []near{{"list", 0.75}, {"search", 0.6}, {"queri", 0.5}, {"find", 0.5}}
	ofOne  = []near{{"get", 0.75}, {"read", 0.6}, {"updat", 0.5}, {"describ", 0.5}}
)

// forms derives verbs from the form of a query: "which pods" implies a list, and an identifier
// such as PROJ-42 implies a single item.
func forms(said, stems []string) []asked {
	many, one := false, false
	for i, w := range said {
		if (w == "which" || w == "what") && i+1 < len(said) {
			next := said[i+1]
			many = many || len(next) > 3 && strings.HasSuffix(next, "s") && stems[i+1] != next && !common[next]
		}
		one = one || strings.ContainsAny(w, "0123456789") && len(w) > 1 || w == "about" && i+1 == len(said)
	}
	var list []asked
	if many {
		list = append(list, asked{ofMany, nearHint})
	}
	if one && !many {
		list = append(list, asked{ofOne, nearHint})
	}
	return list
}

// standIns returns a word and its synonyms. If no tool contains the word itself, its synonyms
// weigh more; if no tool contains a synonym either, similarly spelled words are used.
func (x *index) standIns(w string, others []near) []near {
	if len(x.terms[w]) > 0 {
		return append([]near{{w, 1}}, others...)
	}
	if !slices.ContainsFunc(others, func(n near) bool { return len(x.terms[n.term]) > 0 }) {
		return x.alike(w)
	}
	others = slices.Clone(others)
	for i := range others {
		others[i].weight *= unspoken
	}
	return others
}
