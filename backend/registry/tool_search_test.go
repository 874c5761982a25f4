package registry

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// catalog500 returns a registry with 500 tools of 45 servers, many of them similar.
func catalog500(t testing.TB) *Registry {
	t.Helper()
	file, err := os.Open("testdata/tool-search-500-tools.jsonl")
	require.NoError(t, err)
	defer file.Close()
	catalogs, order := map[string]*core.Catalog{}, []Server{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var one struct {
			Server string
			Tool   json.RawMessage
		}
		var tool struct{ Name string }
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil || json.Unmarshal(one.Tool, &tool) != nil {
			t.Fatal(err)
		}
		if catalogs[one.Server] == nil {
			catalogs[one.Server] = &core.Catalog{}
			order = append(order, Server{ID: one.Server})
		}
		c := catalogs[one.Server]
		c.Tools = append(c.Tools, core.Item{Name: tool.Name, Raw: one.Tool})
	}
	r := New(Options{})
	r.Configure(Prefixed, order)
	for id, c := range catalogs {
		r.Set(id, "", c)
	}
	require.Equal(t, 500, len(r.All().Items(core.Tools)))
	return r
}

// Realistic queries, each with the expected tool. Each list was written before the ranking was
// evaluated on it. In the first evaluation the ranking found 46 of search_queries.txt, 35 of
// search_queries_reworded.txt (both with a simpler ranking, for which they were written), 40 of
// search_queries_held_out_1.txt, 39 of search_queries_held_out_2.txt, which deliberately avoids the
// tools' own words, and 45 of search_queries_held_out_3.txt. The misses of all lists but the last
// were then used for tuning. Do not tune for the last list; write a new one instead.
func TestExpectedToolIsInTopFiveOfFiveHundred(t *testing.T) {
	for _, c := range []struct {
		file         string
		asked, least int
	}{
		{"queries", 50, 49}, {"queries_reworded", 50, 48}, {"queries_held_out_1", 50, 48}, {"queries_held_out_2", 50, 46}, {"queries_held_out_3", 50, 44}, {"queries_spoken", 180, 170},
	} {
		t.Run(c.file, func(t *testing.T) { checkSearchQueries(t, "testdata/search_"+c.file+".txt", c.asked, c.least) })
	}
}

func checkSearchQueries(t *testing.T, file string, questions, least int) {
	t.Helper()
	v := catalog500(t).All()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	asked, hits, first := 0, 0, 0
	for line := range strings.Lines(string(text)) {
		question, want, ok := strings.Cut(strings.TrimSpace(line), " | ")
		require.Truef(t, ok, "a line is no question: %q", line)
		assert.Truef(t, slices.ContainsFunc(v.Items(core.Tools), func(i Item) bool { return i.Server+"/"+i.Name == want }), "there is no tool %s", want)
		asked++
		var got []string
		for _, f := range v.Find(question, "", 5) {
			got = append(got, f.Item.Server+"/"+f.Item.Name)
		}
		at := slices.Index(got, want)
		if at == 0 {
			first++
		}
		if at >= 0 {
			hits++
		} else {
			t.Logf("%q: %v, not %s", question, got, want)
		}
	}
	t.Logf("%d of %d among the first five, %d the very first", hits, asked, first)
	assert.Truef(t, asked == questions && hits >= least, "%d of %d, at least %d of %d are wanted", hits, asked, least, questions)
}

func TestToolIsFoundByNameAndWithinServer(t *testing.T) {
	v := catalog500(t).All()
	got := v.Find("git__blame", "", 1)
	assert.Truef(t, len(got) == 1 && got[0].Item.Name == "blame", "%+v", got)
	for _, f := range v.Find("create", "Stripe", 20) {
		assert.Equal(t, "stripe", f.Item.Server, f.Item.Name)
	}
	assert.Empty(t, v.Find("xyzzy", "", 5))
	assert.Len(t, v.Find("", "git", 100), 11)
}

// Word prefixes, other forms of a word, and words of other languages find results.
func TestOtherFormsOfWordsAreFound(t *testing.T) {
	r := New(Options{})
	r.Configure(Prefixed, []Server{{ID: "a"}, {ID: "k8s"}})
	r.Set("a", "", &core.Catalog{Tools: []core.Item{
		{Name: "calculate", Raw: json.RawMessage(`{"name":"calculate"}`)},
		{Name: "kalender_auflisten", Raw: json.RawMessage(`{"name":"kalender_auflisten","description":"Listet Termine"}`)},
		{Name: "bing_search", Raw: json.RawMessage(`{"name":"bing_search","description":"使用必应搜索指定的关键词，并返回搜索结果列表"}`)},
		{Name: "добавить", Raw: json.RawMessage(`{"name":"добавить","description":"Добавляет заметку"}`)},
		{Name: "unrelated", Raw: json.RawMessage(`{"name":"unrelated","description":"Something else"}`)},
	}})
	r.Set("k8s", "", &core.Catalog{Tools: []core.Item{{Name: "pods", Raw: json.RawMessage(`{"name":"pods"}`)}}})
	v := r.All()
	for question, want := range map[string]string{
		"meinen Kalenderauszug zeigen": "kalender_auflisten", "Kalend": "kalender_auflisten",
		"搜索": "bing_search", "关键词": "bing_search", "заметки": "добавить", "CALCULATE": "calculate",
	} {
		got := v.Find(question, "", 1)
		assert.Truef(t, len(got) == 1 && got[0].Item.Name == want, "%q: %+v", question, got)
	}
	for _, question := range []string{"zzzz", "x1y2z3", "!!!", strings.Repeat("lorem ", 3000)} {
		assert.Emptyf(t, v.Find(question, "", 5), "%.20q", question)
	}
}

// A thesaurus line that has no effect or repeats another is a mistake.
func TestThesaurusIsConsistent(t *testing.T) {
	seen := map[string]int{}
	n := 0
	for line := range strings.Lines(thesaurusText) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		at := seen[line]
		assert.Truef(t, at <= 0, "line %d stands in line %d already", n, at)
		seen[line] = n
		said, meant, oneWay := strings.Cut(strings.TrimLeft(line, "?= "), ">")
		if len(stemPhrases(said)) == 0 || oneWay && len(stemPhrases(meant)) == 0 || !oneWay && len(stemPhrases(said)) < 2 {
			t.Errorf("line %d leads nowhere: %s", n, line)
		}
		for _, p := range stemPhrases(said) {
			assert.Truef(t, strings.Count(p, " ") <= 5, "line %d lacks a comma in %q", n, p)
		}
		for _, p := range stemPhrases(meant) {
			assert.NotContainsf(t, p, " ", "line %d", n)
		}
		assert.Truef(t, strings.Count(line, ">") <= 1 && !strings.Contains(line, ",,"), "line %d: %s", n, line)
	}
}

// For any query, the search returns no more results than requested.
func FuzzFind(f *testing.F) {
	v := catalog500(f).All()
	for _, q := range []string{"send a message", "", "文件", "\xff\xfe", strings.Repeat("a", 5000), "get rid of of of"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, question string) {
		got := v.Find(question, "", 5)
		require.True(t, len(got) <= 5, len(got))
	})
}

func BenchmarkFind(b *testing.B) {
	v := catalog500(b).All()
	v.Find("x", "", 1)
	for b.Loop() {
		v.Find("schedule a meeting in google calendar tomorrow at 10", "", 5)
	}
}
