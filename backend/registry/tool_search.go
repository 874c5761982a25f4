package registry

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
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
