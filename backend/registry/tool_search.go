package registry

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Found is one tool that fits a question, the best first.
type Found struct {
	Item  Item
	Score float64
}

// Find ranks the tools of the view by how well they fit a question in plain words: BM25
// over names, titles, descriptions and arguments, of the words and of what they may stand
// for. Tools of a server that the question names come first, and so does what answers more
// of the question. server narrows it to one; "" is all.
func (v *View) Find(question, server string, most int) []Found {
	v.indexing.Do(func() { v.index = newIndex(v) })
	return v.index.find(v.items[IndexOf(core.Tools)], question, server, most)
}

// index is made once for a view, when it is first asked.
type index struct {
	terms   map[string][]posting
	size    []float64 // of each tool, in weighted words
	mean    float64
	public  []string   // lower-case public names
	names   [][]string // the words of each tool's own name
	servers []serverWords
	of      []int // the server of each tool

	spelling sync.Once
	spelled  *spelling // of the terms, made for the first word that is none of them
}

// posting is how much of a word a tool has.
type posting struct {
	tool   int
	weight float64
}

// serverWords are what a server is called, and how much each word tells it from others.
type serverWords struct {
	words  []string
	weight []float64
}

// What a word counts by where it stands.
const (
	weightName     = 4
	weightServer   = 2
	weightTitle    = 2
	weightText     = 1
	weightArgument = 0.7
	weightDetail   = 0.25
	maxIndexed     = 4096 // bytes of one text
)

func newIndex(v *View) *index {
	tools := v.items[IndexOf(core.Tools)]
	n := len(tools)
	x := &index{terms: map[string][]posting{}, size: make([]float64, n), public: make([]string, n), names: make([][]string, n), of: make([]int, n)}
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
		_ = json.Unmarshal(item.Raw, &about) // what cannot be read is found by its name
		counts := map[string]float64{}
		add := func(list []string, weight float64) {
			for _, w := range list {
				counts[w] += weight
				x.size[i] += weight
			}
		}
		x.names[i] = words(item.Name)
		add(x.names[i], weightName)
		if _, known := at[item.Server]; !known {
			at[item.Server] = len(x.servers)
			called := words(item.Server + " " + labels[item.Server])
			slices.Sort(called)
			x.servers = append(x.servers, serverWords{words: slices.Compact(called)})
		}
		x.of[i] = at[item.Server]
		add(x.servers[x.of[i]].words, weightServer)
		add(words(cmp.Or(about.Title, about.Annotations.Title)), weightTitle)
		add(words(about.Description), weightText)
		for _, name := range slices.Sorted(maps.Keys(about.InputSchema.Properties)) { // a sum of floats depends on its order
			add(words(name), weightArgument)
			add(words(about.InputSchema.Properties[name].Description), weightDetail)
		}
		for w, n := range counts {
			x.terms[w] = append(x.terms[w], posting{i, n})
		}
		x.public[i] = strings.ToLower(item.Public)
		total += x.size[i]
	}
	x.mean = total / max(1, float64(n))
	x.tellServersApart()
	return x
}

// tellServersApart weighs what servers are called: of google-drive, drive tells more
// where there is a google-calendar too.
func (x *index) tellServersApart() {
	count := map[string]float64{"mcp": float64(len(x.servers)), "server": float64(len(x.servers))}
	for _, s := range x.servers {
		for _, w := range s.words {
			count[w]++
		}
	}
	for i, s := range x.servers {
		for _, w := range s.words {
			x.servers[i].weight = append(x.servers[i].weight, rarity(count[w], float64(len(x.servers))))
		}
	}
}

// rarity is BM25's weight of a word that so many of all have.
func rarity(have, all float64) float64 {
	return math.Log(1 + max(0, all-have+0.5)/(have+0.5))
}

// tuning, of which small changes change little.
const (
	saturation  = 0.9  // BM25's k1
	lengthMatch = 0.6  // BM25's b
	ownRarity   = 0.65 // how much a word's own rarity counts, beside that of all it may stand for
	unspoken    = 1.25 // a word that no tool has leans on what it stands for
	serverGain  = 2.0
	coverGain   = 1.5
	nameGain    = 0.4
)

func (x *index) find(tools []Item, question, server string, most int) []Found {
	asked := x.ask(question)
	n := len(tools)
	sum, covered, best := make([]float64, n), make([]float64, n), make([]float64, n)
	wanted := map[string]float64{}
	whole := 0.0
	for _, u := range asked {
		clear(best)
		union := 0.0
		for _, w := range u.near {
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
		rare := rarity(union, float64(n))
		if u.weight == 1 {
			whole += rare
			for i := range best {
				covered[i] += rare * min(1, best[i])
			}
		}
		clear(best)
		for _, w := range u.near {
			list := x.terms[w.term]
			value := ownRarity*rarity(float64(len(list)), float64(n)) + (1-ownRarity)*rare
			for _, p := range list {
				s := w.weight * value * p.weight * (saturation + 1) / (p.weight + saturation*(1-lengthMatch+lengthMatch*x.size[p.tool]/x.mean))
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
			m := meant[x.of[i]]
			score *= (1 + serverGain*m*m) * (1 + nameGain*named/float64(max(1, len(x.names[i]))))
			if whole > 0 {
				score *= 1 + coverGain*covered[i]/whole
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
