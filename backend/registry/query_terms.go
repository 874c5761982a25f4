package registry

import (
	"cmp"
	"slices"
	"strings"
)

// queryTerm is a word or phrase of a query with its synonyms. A tool scores by the best match among
// them.
type queryTerm struct {
	alternatives []relatedTerm
	weight       float64
}

const (
	maxQueryTerms  = 48 // words and phrases of a query
	weightInPhrase = 0.4
)

// parseQuery parses a query into its terms.
func (x *index) parseQuery(question string) []queryTerm {
	var said, stems []string
	for field := range strings.FieldsSeq(question) {
		list := splitWords(field)
		if whole := splitWords(strings.ToLower(field)); len(whole) == 1 && len(x.terms[stemWord(whole[0])]) > 0 {
			list = whole // "GitHub" is one word if a server has that name
		}
		said = append(said, list...)
	}
	for _, w := range said {
		stems = append(stems, stemWord(w))
	}
	t := thesaurus()
	list := impliedVerbs(said, stems)
	had := map[string]bool{}
	phrase := 0 // index after the last matched phrase
	for i := 0; i < len(stems) && len(list) < maxQueryTerms; i++ {
		for n := min(t.maxPhraseWords, len(stems)-i); n > 0; n-- {
			key := strings.Join(stems[i:i+n], " ")
			hints := t.hints[key]
			if len(hints) > 0 && !had["?"+key] {
				had["?"+key] = true
				list = append(list, queryTerm{hints, weightHint})
			}
			if n > 1 && i >= phrase && len(t.near[key]) > 0 && !had[key] {
				had[key] = true
				phrase = i + n
				list = append(list, queryTerm{t.near[key], 1})
			}
		}
		if key := separatedPhrase(t, stems, i); key != "" && i >= phrase && !had[key] {
			had[key] = true
			list = append(list, queryTerm{t.near[key], 1})
		}
		w := stems[i]
		if had[w] {
			continue
		}
		had[w] = true
		one := queryTerm{alternatives: t.near[w], weight: 1}
		if i < phrase {
			one = queryTerm{weight: weightInPhrase} // such as "get" in "get rid of"
		}
		if !stopWords[said[i]] {
			one.alternatives = x.alternatives(w, one.alternatives)
		} else if len(one.alternatives) == 0 {
			continue
		}
		list = append(list, one)
	}
	return list
}

// verbParticles can be separated from their verb, as in "take the old one out".
var verbParticles = map[string]bool{"out": true, "off": true, "up": true, "down": true, "away": true, "back": true, "asid": true}

// separatedPhrase returns the phrase of the verb at i and a particle up to six words later, or "".
func separatedPhrase(t *synonyms, stems []string, i int) string {
	for j := i + 2; j < min(len(stems), i+7); j++ {
		if verbParticles[stems[j]] {
			if key := stems[i] + " " + stems[j]; len(t.near[key]) > 0 {
				return key
			}
		}
	}
	return ""
}

// Tool verbs that a query for several items (verbsForMany) or for a particular one (verbsForOne)
// implies.
var (
	verbsForMany = []relatedTerm{{"list", 0.75}, {"search", 0.6}, {"queri", 0.5}, {"find", 0.5}}
	verbsForOne  = []relatedTerm{{"get", 0.75}, {"read", 0.6}, {"updat", 0.5}, {"describ", 0.5}}
)

// impliedVerbs derives verbs from the form of a query: "which pods" implies a list, and an
// identifier such as PROJ-42 implies a single item.
func impliedVerbs(said, stems []string) []queryTerm {
	many, one := false, false
	for i, w := range said {
		if (w == "which" || w == "what") && i+1 < len(said) {
			next := said[i+1]
			many = many || len(next) > 3 && strings.HasSuffix(next, "s") && stems[i+1] != next && !stopWords[next]
		}
		one = one || strings.ContainsAny(w, "0123456789") && len(w) > 1 || w == "about" && i+1 == len(said)
	}
	var list []queryTerm
	if many {
		list = append(list, queryTerm{verbsForMany, weightHint})
	}
	if one && !many {
		list = append(list, queryTerm{verbsForOne, weightHint})
	}
	return list
}

// alternatives returns a word and its synonyms. If no tool contains the word itself, its synonyms
// weigh more; if no tool contains a synonym either, words that begin alike are used.
func (x *index) alternatives(w string, others []relatedTerm) []relatedTerm {
	if len(x.terms[w]) > 0 {
		return append([]relatedTerm{{w, 1}}, others...)
	}
	if !slices.ContainsFunc(others, func(n relatedTerm) bool { return len(x.terms[n.term]) > 0 }) {
		return x.inflected(w)
	}
	others = slices.Clone(others)
	for i := range others {
		others[i].weight *= missingTermFactor
	}
	return others
}

// inflected returns the terms that begin like w, the most similar first: other forms and compounds of
// the word in languages without stemming.
func (x *index) inflected(w string) (list []relatedTerm) {
	for term := range x.terms {
		n := 0
		for n < min(len(w), len(term)) && w[n] == term[n] {
			n++
		}
		like := float64(n) / float64(max(len(w), len(term)))
		if n >= minAlikeBytes && (like >= minAlike || n == min(len(w), len(term))) {
			list = append(list, relatedTerm{term, inflectedFactor * like})
		}
	}
	slices.SortFunc(list, func(a, b relatedTerm) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), strings.Compare(a.term, b.term))
	})
	return list[:min(maxInflected, len(list))]
}
