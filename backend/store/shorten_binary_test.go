package store

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

func base64Text(bytes int) string {
	return base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\xff\x01png", bytes/5+1)))
}

func cutText(text string) string {
	return fmt.Sprintf("[%d characters not recorded, sha256 %x]", len(text), sha256.Sum256([]byte(text)))
}

// The text after a screenshot is recorded and found, whatever the size of the picture.
func TestTextBehindPictureIsRecordedAndFound(t *testing.T) {
	t.Parallel()
	b := open(t, filepath.Join(t.TempDir(), "history.db"))
	picture := base64Text(300_000)
	form := `{"content":[{"type":"text","text":"before"},{"type":"image","data":"%s","mimeType":"image/png"},{"type":"resource","resource":{"uri":"x://1","blob":"%s","mimeType":"application/pdf"}},{"type":"text","text":"marmalade"}],"n":1.0}`
	sent := fmt.Sprintf(form, picture, picture)
	c := aCall(1)
	arguments := `{"file":"data:image/png;base64,` + picture + `","name":"saffron"}`
	c.Params, c.Arguments = []byte(arguments), core.Span{End: len(arguments)}
	b.Recorder().Record(c, core.Reply{Result: []byte(sent)})
	got, err := b.Call(t.Context(), c.ID)
	must(t, err)
	if want := fmt.Sprintf(form, cutText(picture), cutText(picture)); string(got.Result) != want {
		t.Errorf("%.1000s", got.Result)
	}
	hash := sha256.Sum256([]byte(sent))
	if got.ReplyCut == nil || got.ReplyCut.Size != len(sent) || string(got.ReplyCut.Hash) != string(hash[:]) {
		t.Errorf("the result must count as truncated: %+v", got.ReplyCut)
	}
	if want := `{"file":"data:image/png;base64,` + cutText(picture) + `","name":"saffron"}`; string(got.Arguments) != want || got.ArgumentsCut == nil {
		t.Errorf("%.300s", got.Arguments)
	}
	for _, word := range []string{"before", "marmalade", "saffron"} {
		if got := found(t, b, Query{Text: word}); !slices.Equal(got, []int64{1}) {
			t.Errorf("%s: %v", word, got)
		}
	}
	small := fmt.Sprintf(form, base64Text(2000), base64Text(2000))
	c = aCall(2)
	b.Recorder().Record(c, core.Reply{Result: []byte(small)})
	if got, err := b.Call(t.Context(), c.ID); err != nil || string(got.Result) != small || got.ReplyCut != nil {
		t.Errorf("a payload under the limit is changed: %v %+v", err, got.ReplyCut)
	}
}

func TestOnlyLongBinaryDataIsLeftOut(t *testing.T) {
	t.Parallel()
	long := base64Text(1500)
	escaped := strings.ReplaceAll(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\xff\xff\xff", 600))), "/", `\/`)
	for text, want := range map[string]string{
		`{"data":"` + long + `"}`:                              `{"data":"` + cutText(long) + `"}`,
		`{ "blob" : "` + long + `" }`:                          `{ "blob" : "` + cutText(long) + `" }`,
		`{"data":"` + escaped + `"}`:                           `{"data":"` + cutText(strings.ReplaceAll(escaped, `\`, "")) + `"}`,
		`["data:image/png;base64,` + long + `"]`:               `["data:image/png;base64,` + cutText(long) + `"]`,
		`{"text":"` + long + `"}`:                              "",
		`{"data":"` + long[:1000] + `"}`:                       "",
		`{"data":"` + strings.Repeat("two words ", 500):        "",
		`{"data":"` + strings.Repeat("two words ", 500) + `"}`: "",
		`{"data":"` + long:                                     "",
		`{"data":1,"x":["` + long + `"]}`:                      "",
		`{"data":{"x":"` + long + `"}}`:                        "",
		`{"data":"` + strings.Repeat(`\"`, 2000) + `"}`:        "",
		`{"a":"\\","data":"` + long + `"}`:                     `{"a":"\\","data":"` + cutText(long) + `"}`,
		`{"text":"{\"data\":\"` + long + `\"}"}`:               "",
		strings.Repeat(`"`, 5001):                              "", strings.Repeat(`\`, 5000): "", ``: "",
	} {
		if want == "" {
			want = text
		}
		got := string(shortenBinary([]byte(text)))
		if got != want {
			t.Errorf("%.100s became %.200s", text, got)
		}
		if json.Valid([]byte(text)) && !json.Valid([]byte(got)) {
			t.Errorf("%.100s is no longer JSON", text)
		}
	}
}

// What remains is truncated as any other payload.
func TestTextThatIsTooLongWithoutItsPicturesIsTruncated(t *testing.T) {
	t.Parallel()
	r := &rules{}
	picture := base64Text(5000)
	got, cut := r.appendField(nil, []byte(`{"data":"`+picture+`","text":"`+strings.Repeat("é", 1000)+`"}`), 1000)
	if want := `{"data":"` + cutText(picture) + `","text":"é`; !strings.HasPrefix(string(got), want) || len(got) > 1000 || len(got) < 998 || cut == nil {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

// The time is proportional to the size, whatever the text.
func TestShorteningIsLinear(t *testing.T) {
	t.Parallel()
	const size = 4 << 20
	for name, text := range map[string]string{
		"quotes": strings.Repeat(`"`, size), "backslashes": `{"data":"` + strings.Repeat(`\`, size), "escaped quotes": `{"data":"` + strings.Repeat(`\"`, size/2),
		"data": `{"data":"` + strings.Repeat("A", size) + `"}`, "many": strings.Repeat(`{"data":"`+strings.Repeat("A", minBinary)+`"},`, size/minBinary),
		"almost base64": strings.Repeat(`{"data":"`+strings.Repeat("A", minBinary)+` "},`, size/minBinary), "braces": strings.Repeat("{", size),
	} {
		start := time.Now()
		shortenBinary([]byte(text))
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: %s", name, took)
		} else {
			t.Logf("%s: %s", name, took)
		}
	}
}
