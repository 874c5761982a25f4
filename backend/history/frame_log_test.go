package history

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"

	"github.com/stretchr/testify/assert"
)

func TestFrameLogIsBoundedRedactedAndInOrder(t *testing.T) {
	tl := &FrameLog{Redact: func(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted]") }}
	for i := range 3 * maxFrames {
		tl.Add(Frame{Server: "files", From: "server", Bytes: i}, []byte(fmt.Sprintf(`{"n":%d,"p":"hunter2"}`, i)))
	}
	tl.Add(Frame{Server: "other"}, []byte(strings.Repeat("é", 3*MaxFrame)))
	page, next := tl.Frames("", "files", 0, 10)
	if len(page) != 10 || next != page[9].ID || page[0].Bytes != 3*maxFrames-1 || strings.Contains(page[0].Text, "hunter2") {
		t.Fatalf("%d frames, next %d, newest %+v", len(page), next, page[0])
	}
	seen := 0
	for before := int64(0); ; {
		page, next := tl.Frames("", "files", before, 500)
		seen += len(page)
		if before = next; next == 0 {
			break
		}
	}
	assert.Equal(t, maxFrames-1, seen)
	if page, _ = tl.Frames("", "other", 0, 10); len(page) != 1 || len(page[0].Text) > MaxFrame || !strings.HasSuffix(page[0].Text, "é") {
		t.Error("a long frame is kept whole, or cut within a character")
	}
	for range 2000 {
		tl.Add(Frame{Server: "big"}, []byte(strings.Repeat("x", MaxFrame)))
	}
	assert.Truef(t, tl.bytes <= maxFrameBytes, "%d bytes are kept", tl.bytes)
}

func TestMessagesOfTracedClientAreKeptInOrder(t *testing.T) {
	tl := &FrameLog{}
	bridge := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "initialize") {
			w.Header().Set(sessionHeader, "s1")
		}
		if strings.Contains(string(body), "stream") {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, part := range []string{": \n\nevent: message\nda", "ta: {\"progress\":1}\n\n", "data: {\"result\":2}\n\n"} {
				_, _ = io.WriteString(w, part)
				w.(http.Flusher).Flush()
			}
			return
		}
		_, _ = io.WriteString(w, `{"result":`)
		_, _ = io.WriteString(w, `{}}`)
	})
	h := tl.Clients(bridge, "X-Token", func(string) core.Client { return core.Client{Name: "Cursor"} })
	send := func(session, token, body string) {
		r := httptest.NewRequest("POST", "/s/files/mcp", strings.NewReader(body))
		r.Header.Set("X-Token", token)
		if token == "guest" {
			r.Header.Set(loopback.GuestHeader, "1")
		}
		if session != "" {
			r.Header.Set(sessionHeader, session)
		}
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	initialize := `{"method":"initialize","params":{"clientInfo":{"version":"1","name":"Cursor"}}}`
	send("", "t", initialize)
	if page, _ := tl.Frames("", "files", 0, 10); len(page) != 0 {
		t.Fatal("messages are kept although nobody asked for it")
	}
	tl.Watch(nil, []string{"cursor"})
	send("", "t", initialize)
	send("s1", "t", `{"method":"stream"}`)
	send("", "guest", initialize) // which calls itself like the watched client
	send("", "other", `{"method":"initialize","params":{"clientInfo":{"name":"else"}}}`)
	page, _ := tl.Frames("s1", "", 0, 10)
	var got []string
	for _, f := range page {
		got = append(got, f.From+" "+f.Client+" "+f.Server+" "+f.Text)
	}
	want := []string{
		`drawbridge Cursor files {"result":2}`, `drawbridge Cursor files {"progress":1}`, `client Cursor files {"method":"stream"}`,
		`drawbridge Cursor files {"result":{}}`, `client Cursor files ` + initialize,
	}
	assert.Equal(t, strings.Join(want, "\n"), strings.Join(got, "\n"))
	if page, _ := tl.Frames("", "files", 0, 10); len(page) != 5 {
		t.Errorf("%d frames: those of another client are kept as well", len(page))
	}
}
