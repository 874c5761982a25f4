package api

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
)

// Desktop controls the desktop integration of the daemon.
type Desktop interface {
	StartsAtLogin() (bool, error)
	SetStartAtLogin(on bool) error
	// Paused reports whether all servers are paused. The state is not in the configuration.
	Paused() bool
	// SetPaused stops all servers, or restarts those that it stopped.
	SetPaused(ctx context.Context, on bool) error
	// Tray reports whether there is an icon, or the reason why not.
	Tray() (shown bool, why string)
	// Quit stops the daemon after the response was sent.
	Quit()
}

// DesktopState is the state of the desktop integration.
type DesktopState struct {
	StartAtLogin bool   `json:"startAtLogin"`
	LoginProblem string `json:"loginProblem,omitempty" doc:"Why the start-at-login setting cannot be read"`
	Paused       bool   `json:"paused" doc:"Whether all servers are paused until they are resumed or the daemon restarts"`
	Tray         bool   `json:"tray" doc:"Whether the tray icon is shown"`
	TrayProblem  string `json:"trayProblem,omitempty" doc:"Why the tray icon is not shown"`
	Window       bool   `json:"window" doc:"Whether a Drawbridge window is open"`
}

// DesktopChange holds the settings to change; nil fields stay.
type DesktopChange struct {
	StartAtLogin *bool `json:"startAtLogin,omitempty"`
	Paused       *bool `json:"paused,omitempty"`
}

// OpenRequest names a path of the page, such as /servers/files; "" keeps the current one.
type OpenRequest struct {
	To string `json:"to,omitempty" maxLength:"65536"`
}

// OpenAddress is a URL of the page with a one-time code.
type OpenAddress struct {
	URL string `json:"url"`
}

// Shown reports whether a window accepted the request.
type Shown struct {
	Shown bool `json:"shown"`
}

// Picked is what the user chose in a dialog of the window.
type Picked struct {
	Path string `json:"path" doc:"Empty if the user cancelled"`
}

// PickRequest asks for a file or a folder.
type PickRequest struct {
	Kind string `json:"kind" enum:"file,folder"`
}

// PickAnswer is the result of a dialog of the window.
type PickAnswer struct {
	ID   string `json:"id"`
	Path string `json:"path" maxLength:"32768"`
}

type desktopInput struct{ Body DesktopChange }
type openInput struct{ Body *OpenRequest }
type pickInput struct{ Body PickRequest }
type pickedInput struct{ Body PickAnswer }

func (a *API) registerDesktop(r *web.Router) {
	web.Op(r, "POST", "/api/v1/open-code", "Create a URL for the web UI, with a one-time code", a.openCode)
	web.Op(r, "POST", "/api/v1/window", "Bring the window to the front and show a page in it", a.focusWindow)
	web.Op(r, "POST", "/api/v1/window/pick", "Open a file or folder dialog in the window", a.pick)
	web.Op(r, "POST", "/api/v1/window/picked", "Report the result of a dialog; used by the window", a.picked)
	web.Op(r, "GET", "/api/v1/desktop", "Desktop settings: start at login, pause, tray and window", a.desktop)
	web.Op(r, "PUT", "/api/v1/desktop", "Turn start at login on or off, or pause all servers", a.changeDesktop)
	web.Op(r, "POST", "/api/v1/quit", "Stop the daemon and all servers", a.quit)
}

// OpenURL returns a URL of the page with a one-time code and a path.
func (a *API) OpenURL(to string) string {
	address := a.Sessions.OpenURL(a.URL)
	if to = cleanPagePath(to); to != "" {
		address += "&to=" + url.QueryEscape(to)
	}
	return address
}

// pagePath returns the requested path, "" without a body.
func (in *openInput) pagePath() string {
	if in.Body == nil {
		return ""
	}
	return in.Body.To
}

// cleanPagePath returns to if it is a path of the page, otherwise "".
func cleanPagePath(to string) string {
	if !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "#\r\n\x00") {
		return ""
	}
	return to
}

func (a *API) openCode(_ context.Context, in *openInput) (*web.Answer[OpenAddress], error) {
	return web.Reply(OpenAddress{a.OpenURL(in.pagePath())})
}

// Focus brings an open window to the front, at a path of the page; "" keeps the current one. It
// reports whether there is a window.
func (a *API) Focus(to string) bool {
	return a.windows.send(windowCommand{Command: "focus", To: cleanPagePath(to)})
}

func (a *API) focusWindow(_ context.Context, in *openInput) (*web.Answer[Shown], error) {
	return web.Reply(Shown{a.Focus(in.pagePath())})
}

func (a *API) pick(ctx context.Context, in *pickInput) (*web.Answer[Picked], error) {
	path, err := a.windows.pickPath(ctx, in.Body.Kind)
	if err != nil {
		return nil, err
	}
	return web.Reply(Picked{path})
}

func (a *API) picked(_ context.Context, in *pickedInput) (*web.None, error) {
	if !a.windows.deliverPick(in.Body.ID, in.Body.Path) {
		return nil, core.Errorf(core.CodeNotFound, "this dialog is no longer open")
	}
	return &web.None{}, nil
}

func (a *API) desktop(context.Context, *web.None) (*web.Answer[DesktopState], error) {
	s := DesktopState{Window: a.windows.isOpen()}
	on, err := a.Desktop.StartsAtLogin()
	if err != nil {
		s.LoginProblem = err.Error()
	}
	s.StartAtLogin, s.Paused = on, a.Desktop.Paused()
	s.Tray, s.TrayProblem = a.Desktop.Tray()
	return web.Reply(s)
}

func (a *API) changeDesktop(ctx context.Context, in *desktopInput) (*web.Answer[DesktopState], error) {
	if on := in.Body.StartAtLogin; on != nil {
		if err := a.Desktop.SetStartAtLogin(*on); err != nil {
			return nil, &core.Error{Code: core.CodeInternal, Message: "cannot change the start-at-login setting", Hint: "Drawbridge can also be started manually.", Cause: err}
		}
	}
	if on := in.Body.Paused; on != nil {
		if err := a.Desktop.SetPaused(ctx, *on); err != nil {
			return nil, err
		}
	}
	return a.desktop(ctx, nil)
}

func (a *API) quit(context.Context, *web.None) (*web.None, error) {
	a.CloseWindows()
	a.Desktop.Quit()
	return &web.None{}, nil
}

// followWindow streams commands to the window. It requires the admin token or a browser session.
func (a *API) followWindow(w http.ResponseWriter, r *http.Request) {
	commands, leave, err := a.windows.subscribe()
	if err != nil {
		web.WriteProblem(w, err)
		return
	}
	defer leave()
	s := newStream(w)
	a.serveCommands(r.Context(), s, commands)
}

const (
	maxWindows = 4               // concurrently open windows; one is usual
	pickLimit  = 2 * time.Minute // time limit for picking a file
)

// windowCommand is a command of the daemon for its window.
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
func (a *API) CloseWindows() { a.windows.send(windowCommand{Command: "quit"}) }

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
func (a *API) serveCommands(ctx context.Context, s *stream, commands <-chan windowCommand) {
	if s.write([]byte(": here\n\n")) != nil {
		return
	}
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			err = s.write([]byte(": still here\n\n"))
		case c := <-commands:
			err = s.send("command", c)
		}
		if err != nil {
			return
		}
	}
}

// newStream starts a response of server-sent events.
func newStream(w http.ResponseWriter) *stream {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	web.NoStore(h)
	h.Set("X-Accel-Buffering", "no")
	return &stream{w: w, rc: http.NewResponseController(w)}
}

type noticeInput struct {
	Subject string `path:"subject" maxLength:"100"`
}

func (a *API) dismissNotice(_ context.Context, in *noticeInput) (*web.None, error) {
	if !a.Commands.Dismiss(in.Subject) && !a.Observer.Dismiss(in.Subject) {
		return nil, core.Errorf(core.CodeNotFound, "there is no such notice, or it cannot be acknowledged because it describes the current state")
	}
	return &web.None{}, nil
}
