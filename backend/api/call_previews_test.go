package api

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

func TestPreviewsOfVisibleCalls(t *testing.T) {
	s := newSite(t)
	ids := s.fill(t, 4)
	var got List[CallPreview]
	s.get(t, "/api/v1/previews?ids="+ids[0]+","+ids[3]+"&q=word3", &got)
	if len(got.Items) != 2 || got.Items[0].ID != ids[3] || got.Items[0].MatchIn != "reply" || !strings.Contains(got.Items[0].Match, "word3") || got.Items[1].Match != "" {
		t.Errorf("previews: %+v", got)
	}
	for _, p := range got.Items {
		if strings.Contains(p.Arguments, "qwxSecret") || !strings.HasPrefix(p.Arguments, "n: ") || !strings.Contains(p.Arguments, ", password: ") {
			t.Errorf("arguments: %q", p.Arguments)
		}
	}
	for _, bad := range []string{"", "?ids=", "?ids=x", "?ids=1,", "?ids=1" + strings.Repeat(",1", store.MaxPreviews)} {
		s.want(t, "GET", "/api/v1/previews"+bad, "", 400)
	}
}

func TestArgumentsOnOneLine(t *testing.T) {
	for raw, want := range map[string]string{
		``:     ``,
		`{}`:   ``,
		`null`: ``,
		`{"path":"/tmp/a b","head":20,"deep":{"a":[1, 2]}}`: `path: /tmp/a b, head: 20, deep: {"a":[1, 2]}`,
		`{"text":"two\nlines\tand \u00e9"}`:                 `text: two lines and é`,
		`{"path":"/tmp/a","text":"cut he\n`:                 `path: /tmp/a, text: cut he`,
		`{"path":"/tmp/a","te`:                              `path: /tmp/a`,
		`{"n":9007199254740993,"f":1.0,"e":1E2}`:            `n: 9007199254740993, f: 1.0, e: 1E2`,
		`{"cursor":null,"empty":"","off":false}`:            `cursor: null, empty: , off: false`,
		`{"a":[1,2`:                                         `a: [1,2`,
		`[1,"x"]`:                                           `[1,"x"]`,
	} {
		if got := argumentLine([]byte(raw)); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
	long := argumentLine([]byte(`{"text":"` + strings.Repeat("é", 300) + `"}`))
	if len(long) > store.PreviewBytes || !utf8.ValidString(long) || !strings.HasSuffix(long, "é…") {
		t.Errorf("long: %q", long)
	}
}
