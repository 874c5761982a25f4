package desktop

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
)

const (
	maxWindows = 4               // concurrently open windows; one is usual
	pickLimit  = 2 * time.Minute // time limit for picking a file
)

type windowCommand struct {
	Command string `json:"command"`        // focus, pick or quit
	To      string `json:"to,omitempty"`   // focus: a path of the page
	Kind    string `json:"kind,omitempty"` // pick: file or folder
	ID      string `json:"id,omitempty"`   // pick: id of the response
}

// windowList holds the open windows. All methods are safe for concurrent use.
type windowList struct {
	mu    sync.Mutex
	open  []chan windowCommand // oldest first
	picks map[string]chan string
}

func (w *windowList) subscribe() (commands <-chan windowCommand, leave func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.open) == maxWindows {
		return nil, nil, core.Errorf(core.CodeRejected, "too many windows are already connected")
	}
	c := make(chan windowCommand, 8)
	w.open = append(w.open, c)
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for i := range w.open {
			if w.open[i] == c {
				w.open = append(w.open[:i:i], w.open[i+1:]...)
				return
			}
		}
	}, nil
}

func (w *windowList) isOpen() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.open) > 0
}

// CloseWindows tells each open window to close.
func (f *Feature) CloseWindows() { f.windows.send(windowCommand{Command: "quit"}) }

// send sends a command to the newest window and reports whether one accepted it. quit is sent to
// all.
func (w *windowList) send(c windowCommand) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := false
	for i := len(w.open) - 1; i >= 0 && (!taken || c.Command == "quit"); i-- {
		select {
		case w.open[i] <- c:
			taken = true
		default: // it does not read: try the next one
		}
	}
	return taken
}

func (w *windowList) pickPath(ctx context.Context, kind string) (string, error) {
	id, answer := rand.Text(), make(chan string, 1)
	w.mu.Lock()
	if w.picks == nil {
		w.picks = map[string]chan string{}
	}
	busy := len(w.picks) > 0
	if !busy {
		w.picks[id] = answer
	}
	w.mu.Unlock()
	if busy {
		return "", core.Errorf(core.CodeConflict, "a dialog is already open")
	}
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.picks, id)
	}()
	if !w.send(windowCommand{Command: "pick", Kind: kind, ID: id}) {
		return "", &core.Error{Code: core.CodeUnavailable, Message: "no Drawbridge window is open", Hint: "Enter the path instead."}
	}
	ctx, cancel := context.WithTimeout(ctx, pickLimit)
	defer cancel()
	select {
	case path := <-answer:
		return path, nil
	case <-ctx.Done():
		return "", core.Errorf(core.CodeTimeout, "nothing was selected in time")
	}
}

func (w *windowList) deliverPick(id, path string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, ok := w.picks[id]
	if ok {
		delete(w.picks, id)
		c <- path // the channel has a buffer of one and is used once
	}
	return ok
}

// serveCommands writes commands until ctx ends or the reader is gone.
func serveCommands(ctx context.Context, s *web.Stream, commands <-chan windowCommand) {
	if s.Comment("here") != nil {
		return
	}
	tick := time.NewTicker(web.Heartbeat)
	defer tick.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			err = s.Comment("still here")
		case c := <-commands:
			err = s.Send(web.StreamEvent{Kind: "command", Data: c})
		}
		if err != nil {
			return
		}
	}
}

// FollowWindow streams commands to the window. It requires the admin token or a browser session.
func (f *Feature) FollowWindow(w http.ResponseWriter, r *http.Request) {
	commands, leave, err := f.windows.subscribe()
	if err != nil {
		web.WriteProblem(w, err)
		return
	}
	defer leave()
	serveCommands(r.Context(), web.NewStream(w), commands)
}
