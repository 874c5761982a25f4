package registry

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"drawbridge/backend/hub"
)

// catalog500 is a registry with 500 tools of 45 servers, many of them much alike.
func catalog500(t testing.TB) *Registry {
	t.Helper()
	file, err := os.Open("testdata/tools500.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	catalogs, order := map[string]*hub.Catalog{}, []Server{}
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
			catalogs[one.Server] = &hub.Catalog{}
			order = append(order, Server{ID: one.Server})
		}
		c := catalogs[one.Server]
		c.Tools = append(c.Tools, hub.Item{Name: tool.Name, Raw: one.Tool})
	}
	r := New(Options{})
	r.Arrange(Prefixed, order)
	for id, c := range catalogs {
		r.Set(id, "", c)
	}
	if n := len(r.All().Items(hub.Tools)); n != 500 {
		t.Fatalf("%d tools", n)
	}
	return r
}

// Fifty questions, each with the tool that answers it. They stand in a file of their own and
// were written before the ranking was tried on them. More than half say the tool's own words.
func TestTheRightToolIsAmongTheFirstFiveOfFiveHundred(t *testing.T) {
	askFifty(t, "testdata/questions.txt", 45)
}

// The same, with those that say the tool's own words put as somebody asks who does not know
// them. The ranking knows words and no meanings, so it finds fewer: this holds how many.
func TestQuestionsInOtherWordsAreFoundLessOften(t *testing.T) {
	askFifty(t, "testdata/reworded.txt", 35)
}

func askFifty(t *testing.T, file string, least int) {
	t.Helper()
	v := catalog500(t).All()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	asked, hits, first := 0, 0, 0
	for line := range strings.Lines(string(text)) {
		question, want, ok := strings.Cut(strings.TrimSpace(line), " | ")
		if !ok {
			t.Fatalf("a line is no question: %q", line)
		}
		if !slices.ContainsFunc(v.Items(hub.Tools), func(i Item) bool { return i.Server+"/"+i.Name == want }) {
			t.Errorf("there is no tool %s", want)
		}
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
	if asked != 50 || hits < least {
		t.Errorf("%d of %d, at least %d of 50 are wanted", hits, asked, least)
	}
}

func TestWordsAreSplitAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]string{
		"getURLParts": "url part", "create_issue-comment": "creat issu comment", "listEC2Instances": "list ec2 instanc", "The running processes": "run process",
		"queries": "query", "boxes": "box", "  ": "",
	} {
		if got := strings.Join(words(text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestAToolIsFoundByItsNameAndWithinAServer(t *testing.T) {
	v := catalog500(t).All()
	if got := v.Find("git__blame", "", 1); len(got) != 1 || got[0].Item.Name != "blame" {
		t.Errorf("%+v", got)
	}
	for _, f := range v.Find("create", "Stripe", 20) {
		if f.Item.Server != "stripe" {
			t.Errorf("%s is of %s", f.Item.Name, f.Item.Server)
		}
	}
	if got := v.Find("xyzzy", "", 5); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	if got := v.Find("", "git", 100); len(got) != 11 {
		t.Errorf("%d tools of git", len(got))
	}
}

func BenchmarkFind(b *testing.B) {
	v := catalog500(b).All()
	v.Find("x", "", 1)
	for b.Loop() {
		v.Find("schedule a meeting in google calendar tomorrow at 10", "", 5)
	}
}
