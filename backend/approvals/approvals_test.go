package approvals

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const form = `{"type":"object","properties":{"n":{"type":"integer"},"who":{"type":"string","enum":["a","b"]}},"required":["n"]}`

type askResult struct {
	Answer
	err error
}

// startAsk calls Ask in a goroutine and waits until the item is pending.
func startAsk(ctx context.Context, b *Inbox, item Item) <-chan askResult {
	done := make(chan askResult, 1)
	go func() {
		a, err := b.Ask(ctx, item)
		done <- askResult{a, err}
	}()
	synctest.Wait()
	return done
}

func TestAnswerReachesRequesterAndEventsAreSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := new(core.Bus)
		sub := bus.Subscribe(8)
		defer sub.Close()
		b := New(Options{Bus: bus})
		item, err := ItemFromElicitation([]byte(`{"message":"How many?","requestedSchema":` + form + `}`))
		require.NoError(t, err)
		item.Server = "files"
		done := startAsk(t.Context(), b, item)
		list := b.List()
		if len(list) != 1 || list[0].Message != "How many?" || list[0].Kind != Form || !list[0].Expires.Equal(list[0].At.Add(2*time.Minute)) {
			t.Fatalf("%+v", list)
		}
		e := <-sub.Events()
		assert.Truef(t, e.Kind == core.ApprovalEvent && e.Data.(Item).State == "", "%+v", e)
		id := list[0].ID
		for content, field := range map[string]string{
			`{}`: "content.n", `{"n":"x"}`: "content.n", `{"n":1.5}`: "content.n", `[1]`: "content", `null`: "content",
			`{"n":1,"who":"c"}`: "content.who", `{"n":1}{}`: "content",
		} {
			err := b.Answer(id, Accept, json.RawMessage(content))
			if e, ok := errors.AsType[*core.Error](err); !ok || len(e.Fields) != 1 || e.Fields[0].Field != field {
				t.Errorf("%s: %+v", content, err)
			}
		}
		assert.Equal(t, core.CodeValidation, core.CodeOf(b.Answer(id, "allow", nil)))
		require.NoError(t, b.Answer(id, Accept, json.RawMessage(`{"n":9007199254740993,"who":"a"}`)))
		got := <-done
		result := string(got.Result())
		assert.Truef(t, got.err == nil && result == `{"action":"accept","content":{"n":9007199254740993,"who":"a"}}`, "%s %v", result, got.err)
		e = <-sub.Events()
		assert.Equal(t, Accept, e.Data.(Item).State)
		assert.Equal(t, core.CodeNotFound, core.CodeOf(b.Answer(id, Decline, nil)), "answered twice")
		assert.Empty(t, b.List(), "it still waits")
	})
}

func TestSilenceDeclinesAfterTwoMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Bus: new(core.Bus)})
		start := time.Now()
		got := <-startAsk(t.Context(), b, Item{Kind: Form})
		assert.Truef(t, got.Action == Decline && got.err == nil && time.Since(start) == 2*time.Minute, "%+v after %s", got, time.Since(start))
		assert.Empty(t, b.List(), "it still waits")
	})
}

func TestItemIsRemovedWithItsRequester(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Bus: new(core.Bus)})
		ctx, cancel := context.WithCancelCause(t.Context())
		done := startAsk(ctx, b, Item{Kind: URL})
		gone := errors.New("gone")
		cancel(gone)
		got := <-done
		assert.Truef(t, errors.Is(got.err, gone) && len(b.List()) == 0, "%+v", got)
	})
}

func TestPendingApprovalsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Bus: new(core.Bus), MaxPending: 3, MaxPendingPerOwner: 2})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for _, server := range []string{"a", "a", "b"} {
			startAsk(ctx, b, Item{Server: server})
		}
		for _, server := range []string{"a", "c"} {
			got := <-startAsk(ctx, b, Item{Server: server})
			assert.Equal(t, core.CodeRateLimited, core.CodeOf(got.err), server)
		}
		got := <-startAsk(ctx, b, Item{Message: strings.Repeat("x", maxText+1)})
		assert.Equal(t, core.CodeValidation, core.CodeOf(got.err))
		cancel()
		synctest.Wait()
	})
}

func TestClientCannotUseUpTheApprovalsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Bus: new(core.Bus)})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ask := func(client, server string, size int) {
			startAsk(ctx, b, Item{Kind: Call, Server: server, Client: core.Client{Token: client, Name: rand.Text()}, Held: &Held{Arguments: strings.Repeat("x", size)}})
			synctest.Wait()
		}
		pending := func() int { return len(b.List()) }
		for i := range 100 {
			ask("greedy", "a", 3<<20)
			ask("greedy", "s"+strconv.Itoa(i), 0)
		}
		require.Equal(t, 16, pending(), "one client")
		for range 100 {
			ask("modest", "a", 3<<20)
		}
		if n := pending(); n != 16+5 { // 15 MiB
			t.Errorf("the other client has %d approvals", n-16)
		}
		for i := range 100 {
			ask(strconv.Itoa(i), "a", 0)
		}
		n := pending()
		assert.Truef(t, n <= 16+32, "%d approvals are pending, nearly all of one server", n)
		ask("modest", "b", 0)
		ask("", "c", 0)
		list := b.List()
		assert.True(t, list[len(list)-1].Server == "c" && list[len(list)-2].Server == "b", "a client was blocked by the others")
		cancel()
		synctest.Wait()
	})
}

func TestOnlyWebURLsAreOpened(t *testing.T) {
	for address, ok := range map[string]bool{
		"https://example.com/a?b": true, "http://127.0.0.1:8080/": true,
		"javascript:alert(1)": false, "file:///etc/passwd": false, "https://": false, "": false, "https://user@example.com/": false,
	} {
		params, _ := json.Marshal(map[string]string{"mode": "url", "message": "m", "url": address})
		item, err := ItemFromElicitation(params)
		assert.Truef(t, (err == nil) == ok && !(ok && (item.Kind != URL || item.URL != address)), "%q: %+v %v", address, item, err)
	}
	_, err := ItemFromElicitation([]byte(`{"mode":"telepathy"}`))
	assert.ErrorIs(t, err, ErrUnsupportedElicitation)
}

func TestInboxIsWatchedWhileAViewerShowsItems(t *testing.T) {
	b := New(Options{Bus: new(core.Bus)})
	shown := false
	b.AddViewer(func() bool { return shown })
	remove := b.AddViewer(func() bool { return true })
	assert.True(t, b.Watched(), "not watched by an open page")
	if remove(); b.Watched() {
		t.Error("watched by a closed page")
	}
	if shown = true; !b.Watched() {
		t.Error("not watched by a viewer that shows items again")
	}
}

// The package schema holds what each keyword means.
func TestAnswerMustMatchEachKeywordOfTheForm(t *testing.T) {
	for _, c := range []struct{ property, value, want string }{
		{`{"type":"string","minLength":2}`, `"a"`, "contains 1 characters; the minimum is 2"},
		{`{"type":"string","format":"email"}`, `"not an address"`, ""}, // an annotation
		{`{"type":"string","pattern":"(?=a)"}`, `"b"`, ""},             // an unsupported schema is left to the server
	} {
		form := `{"type":"object","properties":{"n":` + c.property + `}}`
		var got string
		for _, one := range validateForm(form, []byte(`{"n":`+c.value+`}`)) {
			got += one.Error
		}
		assert.Equalf(t, c.want, got, "%s with %s", c.property, c.value)
	}
}
