package approvals

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/terminal/terminaltest"

	"github.com/stretchr/testify/assert"
)

// TestApprovalsAreAnsweredAsTheyArrive uses one call that is pending at the start, and one that
// arrives while the first is answered.
func TestApprovalsAreAnsweredAsTheyArrive(t *testing.T) {
	f := terminaltest.New(t, Commands)
	var answered atomic.Int32
	said, first := make(chan string, 2), make(chan struct{})
	firstSaid := sync.OnceFunc(func() { close(first) })
	f.Mux.HandleFunc("GET /api/v1/events", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "event: snapshot\ndata: {}\n\n")
		w.(http.Flusher).Flush()
		select {
		case <-first:
		case <-r.Context().Done():
		}
		io.WriteString(w, "event: approval\ndata: {}\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	f.Mux.HandleFunc("GET /api/v1/approvals", func(w http.ResponseWriter, _ *http.Request) {
		if answered.Load() == 0 {
			io.WriteString(w, `{"items":[{"id":"a1","kind":"call","server":"files","tool":"rm","arguments":"{}","client":{"token":"cursor"}}]}`)
			return
		}
		io.WriteString(w, `{"items":[{"id":"b2","kind":"call","server":"files","tool":"mv","arguments":"{}","client":{"token":"cursor"}}]}`)
	})
	f.Mux.HandleFunc("POST /api/v1/approvals/{id}", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		answered.Add(1)
		said <- r.PathValue("id") + string(body)
		firstSaid()
		w.WriteHeader(http.StatusNoContent)
	})
	got := f.Typed("y\nn\n", "approvals", "--wait")
	if got.Code != 0 || !strings.Contains(got.Out, `"files": call "rm" {}, requested by cursor`+"\n  Allow? [y/N]   Allowed.") || answered.Load() < 1 {
		t.Errorf("%+v", got)
	}
	one := <-said
	assert.True(t, strings.HasPrefix(one, "a1") && strings.Contains(one, `"accept"`), one)
}

func TestOnlyApprovalEventsRefreshPrompt(t *testing.T) {
	t.Parallel()
	for event, want := range map[string]int{"snapshot": 1, "approval": 1, "call": 0, "server": 0} {
		changed := make(chan struct{}, 1)
		signalApprovals(strings.NewReader("event: "+event+"\ndata: {}\n\n"), changed, nil)
		assert.Truef(t, len(changed) == want, "%s: %d", event, len(changed))
	}
}

// A person must not approve what the terminal hides.
func TestApprovalShowsAllOfWhatItApproves(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]string{"long": strings.Repeat("x", 4000), "blanks": strings.Repeat(" ", 300), "operating system command": "\u009d0;", "direction": "\u202e", "escape": "\x1b]0;"} {
		w := &shownItem{Approval{ID: "a1", Kind: "call", Tool: "exec", Arguments: `{"note":"` + before + `","cmd":"echo  HIDDEN"}`}}
		got := w.question()
		assert.Truef(t, strings.Contains(got, `"cmd":"echo  HIDDEN"}`) && !strings.ContainsAny(got, "\x1b\u009d\u202e"), "%s: %q", name, got)
	}
	w := &shownItem{Approval{ID: "a1", Kind: "call", Tool: "exec", Arguments: strings.Repeat("x", maxListed)}}
	assert.Contains(t, w.listed(), "drawbridge approvals a1", "a cut request does not say so")
}

func TestCutApprovalIsNotAnsweredBeforeItWasShown(t *testing.T) {
	t.Parallel()
	f := terminaltest.New(t, Commands)
	long := `{"id":"a1","kind":"call","tool":"rm","server":"files","arguments":"` + strings.Repeat("x", 8<<10) + `END"}`
	f.Mux.HandleFunc("GET /api/v1/approvals", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"items":[%s]}`, long) })
	answered := 0
	f.Mux.HandleFunc("POST /api/v1/approvals/{id}", func(w http.ResponseWriter, _ *http.Request) { answered++ })
	got := f.Run(false, "approvals", "allow", "a1")
	assert.Truef(t, got.Code == 1 && strings.Contains(got.Err, "approvals a1") && answered == 0, "%+v", got)
	got = f.Run(false, "approvals", "a1")
	assert.Truef(t, got.Code == 0 && strings.Contains(got.Out, "END"), "%+v", got)
	got = f.Run(false, "approvals", "allow", "a1", "--reviewed")
	assert.Truef(t, got.Code == 0 && answered == 1, "%+v", got)
}

// The command of a server may change between the list and the answer: only the one that was shown is
// approved, with all that decides what it runs.
func TestApprovalNamesTheCommandThatWasShown(t *testing.T) {
	f := terminaltest.New(t, Commands)
	const first, second = "command:s:0123456789abcdef", "command:s:fedcba9876543210"
	id := first
	f.Mux.HandleFunc("GET /api/v1/approvals", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"items":[{"id":%q,"kind":"command","server":"s","message":"srv read\nEnvironment: LD_PRELOAD=/tmp/x.so\nFolder: /tmp","command":{"commandLine":"srv read","previous":"srv"}}]}`, id)
	})
	var answered []string
	f.Mux.HandleFunc("POST /api/v1/approvals/{id}", func(w http.ResponseWriter, r *http.Request) {
		answered = append(answered, r.PathValue("id"))
		w.WriteHeader(http.StatusNoContent)
	})
	const question = "run srv read; Environment: LD_PRELOAD=/tmp/x.so; Folder: /tmp; before: srv"
	got := f.Run(false, "approvals")
	assert.Truef(t, strings.Contains(got.Out, "command:s:01234567 ") && strings.Contains(got.Out, question), "the list shows %s", got.Out)
	if got := f.Run(false, "approvals", "allow", "command:s"); got.Code != 1 || !strings.Contains(got.Err, question) || !strings.Contains(got.Err, "approvals allow command:s:01234567") {
		t.Errorf("without the hash: %+v", got)
	}
	id = second
	got = f.Run(false, "approvals", "allow", "command:s:01234567")
	assert.Truef(t, got.Code == 1 && len(answered) == 0, "another command: %+v, answered %q", got, answered)
	got = f.Run(false, "approvals", "allow", "command:s:fedcba98")
	assert.Truef(t, got.Code == 0 && len(answered) == 1 && answered[0] == second, "the command that was shown: %+v, answered %q", got, answered)
}

// Clients write the arguments of calls. Time that grows faster than the text lets one of them block
// the command.
func TestLongQuestionsArePrintedInLinearTime(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"a", "世", " ", "\n", "\x1b]", "\u202e", `"`} {
		text := strings.Repeat(part, 1<<20/len(part))
		began := time.Now()
		(&shownItem{Approval{Kind: "call", Tool: text, Arguments: text}}).question()
		took := time.Since(began)
		assert.Truef(t, took <= 30*time.Second, "1 MB of %q takes %s", part, took)
	}
}

// The effect is shown below the question, and an answer says what was shown.
func TestApprovalShowsItsEffectAndAnswerSaysWhatWasShown(t *testing.T) {
	f := terminaltest.New(t, Commands)
	const approval = `{"id":"a1","kind":"call","server":"files","tool":"write","arguments":"{}","seen":"one","files":[{"path":"/n.txt","diff":"@@ -1,1 +1,1 @@\n-a\u202e\n+b\n"}],"preview":{"argument":"dryRun","state":"done","text":"would change"}}`
	f.Answer("GET /api/v1/approvals", `{"items":[`+approval+`]}`)
	f.Answer("GET /api/v1/approvals/a1", approval)
	var body atomic.Value
	f.Mux.HandleFunc("POST /api/v1/approvals/{id}", func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		body.Store(string(raw))
		w.WriteHeader(http.StatusNoContent)
	})
	f.Mux.HandleFunc("POST /api/v1/approvals/{id}/preview", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) })
	for _, command := range [][]string{{"approvals", "a1"}, {"approvals", "preview", "a1"}} {
		got := f.Run(false, command...)
		want := "  Effect on \"/n.txt\":\n  @@ -1,1 +1,1 @@\n  -a⟨U+202E⟩\n  +b\n  Preview with \"dryRun\": result (Drawbridge cannot tell whether the run changed something)\n  would change\n"
		assert.Truef(t, got.Code == 0 && strings.HasSuffix(got.Out, want), "%q: %+v", command, got)
	}
	if got := f.Run(false, "approvals", "allow", "a1"); got.Code != 0 || !strings.Contains(body.Load().(string), `"seen":"one"`) {
		t.Errorf("%+v, %v", got, body.Load())
	}
}
