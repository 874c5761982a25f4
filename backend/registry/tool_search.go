package registry

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/kljensen/snowball/english"
)

// Found is a search result: a tool and its score.
type Found struct {
	Item  Item
	Score float64
}

// Find returns up to most tools that match a plain-language query, the best first. It ranks by
// BM25 over names, titles, descriptions and arguments, with synonyms. Tools of a server that the
// query names, and tools that cover more of the query, rank higher. server restricts the search
// to one server; "" searches all.
func (v *View) Find(question, server string, most int) []Found {
	v.indexOnce.Do(func() { v.index = newIndex(v) })
	return v.index.rank(v.items[IndexOf(core.Tools)], question, server, most)
}

// index is the search index of a view. It is built on the first search.
type index struct {
	terms    map[string][]posting
	size     []float64 // document length of each tool, in weighted words
	mean     float64
	public   []string   // lower-case public names
	names    [][]string // stems of each tool's own name
	servers  []serverWords
	serverOf []int // index into servers of each tool
}

// posting is the weighted frequency of a term in a tool.
type posting struct {
	tool   int
	weight float64
}

// serverWords holds the words of a server's id and label, and how distinctive each of them is.
type serverWords struct {
	words  []string
	weight []float64
}

// Weights of a word by the field that contains it.
const (
	weightName     = 4
	weightServer   = 2
	weightTitle    = 2
	weightText     = 1
	weightArgument = 0.7
	weightDetail   = 0.25
	maxIndexed     = 4096 // bytes of a text that are indexed
)

func newIndex(v *View) *index {
	tools := v.items[IndexOf(core.Tools)]
	n := len(tools)
	x := &index{terms: map[string][]posting{}, size: make([]float64, n), public: make([]string, n), names: make([][]string, n), serverOf: make([]int, n)}
	labels := map[string]string{}
	for _, o := range v.catalogs {
		labels[o.Server] = o.Label
	}
	at := map[string]int{}
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
		_ = json.Unmarshal(item.Raw, &about) // a tool with invalid JSON is found by its name only
		counts := map[string]float64{}
		add := func(list []string, weight float64) {
			for _, w := range list {
				counts[w] += weight
				x.size[i] += weight
			}
		}
		x.names[i] = stemWords(item.Name)
		add(x.names[i], weightName)
		if _, known := at[item.Server]; !known {
			at[item.Server] = len(x.servers)
			called := stemWords(item.Server + " " + labels[item.Server])
			slices.Sort(called)
			x.servers = append(x.servers, serverWords{words: slices.Compact(called)})
		}
		x.serverOf[i] = at[item.Server]
		add(x.servers[x.serverOf[i]].words, weightServer)
		add(stemWords(cmp.Or(about.Title, about.Annotations.Title)), weightTitle)
		add(stemWords(about.Description), weightText)
		for _, name := range slices.Sorted(maps.Keys(about.InputSchema.Properties)) { // sorted, because floating-point sums depend on the order
			add(stemWords(name), weightArgument)
			add(stemWords(about.InputSchema.Properties[name].Description), weightDetail)
		}
		for w, n := range counts {
			x.terms[w] = append(x.terms[w], posting{i, n})
		}
		x.public[i] = strings.ToLower(item.Public)
		total += x.size[i]
	}
	x.mean = total / max(1, float64(n))
	x.weighServerNames()
	return x
}

// weighServerNames weights the words of server names by rarity: with google-drive and
// google-calendar configured, "drive" is more distinctive than "google".
func (x *index) weighServerNames() {
	count := map[string]float64{"mcp": float64(len(x.servers)), "server": float64(len(x.servers))}
	for _, s := range x.servers {
		for _, w := range s.words {
			count[w]++
		}
	}
	for i, s := range x.servers {
		for _, w := range s.words {
			x.servers[i].weight = append(x.servers[i].weight, inverseDocumentFrequency(count[w], float64(len(x.servers))))
		}
	}
}

// inverseDocumentFrequency returns the BM25 inverse document frequency of a term that have of all
// documents contain.
func inverseDocumentFrequency(have, all float64) float64 {
	return math.Log(1 + max(0, all-have+0.5)/(have+0.5))
}

// Ranking parameters. Results are not sensitive to small changes of them.
const (
	bm25K1            = 0.9  // k1 of BM25
	bm25B             = 0.6  // b of BM25
	ownIDFShare       = 0.65 // share of a term's own rarity; the rest is the rarity of all its synonyms together
	missingTermFactor = 1.25 // factor for the synonyms of a word that no tool contains
	inflectedFactor   = 0.7  // factor for words that only begin alike
	minAlikeBytes     = 4
	minAlike          = 0.6 // minimum share of the longer word that is alike
	maxInflected      = 3
	serverBoost       = 2.0
	coverageBoost     = 1.5
	nameBoost         = 0.4
)

func (x *index) rank(tools []Item, question, server string, most int) []Found {
	asked := x.parseQuery(question)
	n := len(tools)
	sum, covered, best := make([]float64, n), make([]float64, n), make([]float64, n)
	wanted := map[string]float64{}
	whole := 0.0
	for _, u := range asked {
		clear(best)
		union := 0.0
		for _, w := range u.alternatives {
			wanted[w.term] = max(wanted[w.term], w.weight*u.weight)
			for _, p := range x.terms[w.term] {
				if best[p.tool] == 0 {
					union++
				}
				best[p.tool] = max(best[p.tool], w.weight)
			}
		}
		if union == 0 {
			continue
		}
		rare := inverseDocumentFrequency(union, float64(n))
		if u.weight == 1 {
			whole += rare
			for i := range best {
				covered[i] += rare * min(1, best[i])
			}
		}
		clear(best)
		for _, w := range u.alternatives {
			list := x.terms[w.term]
			value := ownIDFShare*inverseDocumentFrequency(float64(len(list)), float64(n)) + (1-ownIDFShare)*rare
			for _, p := range list {
				s := w.weight * value * p.weight * (bm25K1 + 1) / (p.weight + bm25K1*(1-bm25B+bm25B*x.size[p.tool]/x.mean))
				best[p.tool] = max(best[p.tool], s)
			}
		}
		for i := range best {
			sum[i] += u.weight * best[i]
		}
	}
	meant := make([]float64, len(x.servers))
	for i, s := range x.servers {
		has, all := 0.0, 0.0
		for j, w := range s.words {
			has += s.weight[j] * wanted[w]
			all += s.weight[j]
		}
		if all > 0 {
			meant[i] = has / all
		}
	}
	exact := strings.ToLower(strings.TrimSpace(question))
	var found []Found
	for i, item := range tools {
		if server != "" && !strings.EqualFold(item.Server, server) {
			continue
		}
		score := sum[i]
		if score > 0 {
			named := 0.0
			for _, w := range x.names[i] {
				named += wanted[w]
			}
			m := meant[x.serverOf[i]]
			score *= (1 + serverBoost*m*m) * (1 + nameBoost*named/float64(max(1, len(x.names[i]))))
			if whole > 0 {
				score *= 1 + coverageBoost*covered[i]/whole
			}
		}
		if x.public[i] == exact || strings.EqualFold(item.Name, exact) {
			score += 1000
		}
		if score > 0 || exact == "" {
			found = append(found, Found{item, score})
		}
	}
	slices.SortStableFunc(found, func(a, b Found) int { return cmp.Compare(b.Score, a.Score) })
	return found[:min(most, len(found))]
}

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

//go:embed thesaurus.txt
var thesaurusText string

// relatedTerm is a related term and the weight of the relation.
type relatedTerm struct {
	term   string
	weight float64
}

// synonyms maps stemmed words and phrases, with their words separated by spaces, to related
// terms.
type synonyms struct {
	near, hints    map[string][]relatedTerm
	maxPhraseWords int // number of words of the longest phrase
}

const (
	weightSame        = 0.95
	weightSynonym     = 0.6  // near-synonyms
	weightFirst       = 0.75 // first related term; later ones weigh less
	weightStep        = 0.06
	weightMin         = 0.4
	weightPhraseBonus = 0.15 // added for a phrase, which is less ambiguous than a word
	weightHint        = 0.3  // weight of a hint
)

// thesaurus is parsed on the first query.
var thesaurus = sync.OnceValue(func() *synonyms { return parseThesaurus(thesaurusText) })

func parseThesaurus(text string) *synonyms {
	m := &synonyms{near: map[string][]relatedTerm{}, hints: map[string][]relatedTerm{}}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		line, hint := strings.CutPrefix(line, "? ")
		line, same := strings.CutPrefix(line, "= ")
		said, meant, oneWay := strings.Cut(line, ">")
		from, to := stemPhrases(said), stemPhrases(meant)
		if !oneWay {
			to = from
		}
		for _, f := range from {
			m.maxPhraseWords = max(m.maxPhraseWords, strings.Count(f, " ")+1)
			for i, t := range to {
				weight := weightSynonym
				if oneWay {
					weight = max(weightMin, weightFirst-weightStep*float64(i))
					if strings.Contains(f, " ") {
						weight += weightPhraseBonus
					}
				}
				if same {
					weight = weightSame
				}
				into := m.near
				if hint {
					into = m.hints
				}
				if t != f && !strings.Contains(t, " ") {
					into[f] = addTerm(into[f], relatedTerm{t, weight})
				}
			}
		}
	}
	return m
}

// stemPhrases returns the stemmed phrases of a comma-separated list. It keeps common words, because
// they are significant in phrases.
func stemPhrases(list string) []string {
	var out []string
	for p := range strings.SplitSeq(list, ",") {
		stems := splitWords(p)
		for i := range stems {
			stems[i] = stemWord(stems[i])
		}
		if len(stems) > 0 {
			out = append(out, strings.Join(stems, " "))
		}
	}
	return out
}

// addTerm adds n to list, or raises the weight of the term if the list has it.
func addTerm(list []relatedTerm, n relatedTerm) []relatedTerm {
	if i := slices.IndexFunc(list, func(o relatedTerm) bool { return o.term == n.term }); i >= 0 {
		list[i].weight = max(list[i].weight, n.weight)
		return list
	}
	return append(list, n)
}

// stemWords returns the stems of the words of text, without common words.
func stemWords(text string) []string {
	var list []string
	for _, w := range splitWords(text) {
		if !stopWords[w] {
			list = append(list, stemWord(w))
		}
	}
	return list
}

// splitWords splits text into lower-case words at separators and at changes of case: createIssue,
// create_issue and create-issue all give the same two words. Scripts without spaces between words
// are split into overlapping pairs of characters, so that substrings match.
func splitWords(text string) []string {
	if len(text) > maxIndexed {
		text = strings.ToValidUTF8(text[:maxIndexed], "")
	}
	var list []string
	word := []rune{}
	end := func() {
		if len(word) > 0 {
			list = append(list, strings.ToLower(string(word)))
		}
		word = word[:0]
	}
	runes := []rune(text)
	for i, r := range runes {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
			end()
			if i+1 < len(runes) && unicode.IsLetter(runes[i+1]) {
				list = append(list, string(runes[i:i+2]))
			} else if i == 0 || !unicode.IsLetter(runes[i-1]) {
				list = append(list, string(r))
			}
			continue
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r):
			end()
			continue
		case i > 0 && unicode.IsUpper(r) && unicode.IsLower(runes[i-1]),
			i > 0 && i+1 < len(runes) && unicode.IsUpper(r) && unicode.IsDigit(runes[i-1]) && unicode.IsLower(runes[i+1]),
			i > 0 && i+1 < len(runes) && unicode.IsUpper(r) && unicode.IsUpper(runes[i-1]) && unicode.IsLower(runes[i+1]): // such as getURLParts
			end()
		}
		word = append(word, r)
	}
	end()
	return list
}

// stemWord removes English inflectional suffixes.
func stemWord(w string) string {
	for i := range len(w) {
		if w[i] < 'a' || w[i] > 'z' {
			return w // not an English word
		}
	}
	return english.Stem(w, true)
}

// stopWords holds stop words, which say nothing about a tool. They still count in phrases.
var stopWords = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(`a about an and any are as at be been but by can could d did do does don for from get gets got has have he her his how i
		if in into is isn it its just let like ll m may me might my need no not of off on or our out over please re s she should so some t that the their
		them then there these they this those to too up us use used uses using ve very via want was we were what when where which who whom why will with
		would you your`) {
		m[w] = true
	}
	return m
}()
