package api

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/danielgtaylor/huma/v2"
)

// Desktop is what the daemon does on the user's desktop.
type Desktop interface {
	StartsAtLogin() (bool, error)
	SetStartAtLogin(on bool) error
	// Paused reports whether all servers are held back, which no file says.
	Paused() bool
	// SetPaused stops all servers, or starts those again that it stopped.
	SetPaused(ctx context.Context, on bool) error
	// Tray reports whether there is an icon, and why not.
	Tray() (shown bool, why string)
	// Quit ends the daemon as soon as the answer is out.
	Quit()
}

// DesktopState is how Drawbridge sits on the desktop.
type DesktopState struct {
	StartAtLogin bool   `json:"startAtLogin"`
	LoginProblem string `json:"loginProblem,omitempty" doc:"Why the start at login cannot be read"`
	Paused       bool   `json:"paused" doc:"All servers are held back until the daemon ends or the pause does"`
	Tray         bool   `json:"tray" doc:"There is an icon"`
	TrayProblem  string `json:"trayProblem,omitempty" doc:"Why there is none"`
	Window       bool   `json:"window" doc:"A window of ours is open"`
}

// DesktopChange names what is to be changed; the rest stays.
type DesktopChange struct {
	StartAtLogin *bool `json:"startAtLogin,omitempty"`
	Paused       *bool `json:"paused,omitempty"`
}

// OpenRequest names a place of the page, such as /servers/files; "" is where it was.
type OpenRequest struct {
	To string `json:"to,omitempty" maxLength:"65536"`
}

// OpenAddress is an address of the page that lets one browser in.
type OpenAddress struct {
	URL string `json:"url"`
}

// Shown tells whether a window took the request.
type Shown struct {
	Shown bool `json:"shown"`
}

// Picked is what the user chose in a dialog of the window.
type Picked struct {
	Path string `json:"path" doc:"Empty when the user chose nothing"`
}

// PickRequest asks for a file or a folder.
type PickRequest struct {
	Kind string `json:"kind" enum:"file,folder"`
}

// PickAnswer is the window's word about what was picked.
type PickAnswer struct {
	ID   string `json:"id"`
	Path string `json:"path" maxLength:"32768"`
}

type desktopInput struct{ Body DesktopChange }
type openInput struct{ Body *OpenRequest }
type pickInput struct{ Body PickRequest }
type pickedInput struct{ Body PickAnswer }

func (a *API) registerDesktop(doc huma.API) {
	op(a, doc, "POST", "/api/v1/open-code", "An address of the page with a one-time code", a.openCode)
	op(a, doc, "POST", "/api/v1/window", "Bring the open window to the front, at a place of the page", a.focusWindow)
	op(a, doc, "POST", "/api/v1/window/pick", "Ask the user for a file or a folder, in a dialog of the window", a.pick)
	op(a, doc, "POST", "/api/v1/window/picked", "What was picked; the window says so", a.picked)
	op(a, doc, "GET", "/api/v1/desktop", "Start at login, pause, tray and window", a.desktop)
	op(a, doc, "PUT", "/api/v1/desktop", "Change the start at login, or pause all servers", a.changeDesktop)
	op(a, doc, "POST", "/api/v1/quit", "End the daemon and all its servers", a.quit)
}

// OpenURL is an address of the page with a one-time code that leads to a place.
func (a *API) OpenURL(to string) string {
	address := a.Sessions.OpenURL(a.URL)
	if to = pagePlace(to); to != "" {
		address += "&to=" + url.QueryEscape(to)
	}
	return address
}

// place is the one asked for, "" without a body.
func (in *openInput) place() string {
	if in.Body == nil {
		return ""
	}
	return in.Body.To
}

// pagePlace returns to when it is a place of the page, else "".
func pagePlace(to string) string {
	if !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "#\r\n\x00") {
		return ""
	}
	return to
}

func (a *API) openCode(_ context.Context, in *openInput) (*answer[OpenAddress], error) {
	return reply(OpenAddress{a.OpenURL(in.place())})
}

// Focus asks an open window to come to the front, at a place of the page; "" is where
// it is. It reports whether there is a window.
func (a *API) Focus(to string) bool {
	return a.windows.tell(windowCommand{Command: "focus", To: pagePlace(to)})
}

func (a *API) focusWindow(_ context.Context, in *openInput) (*answer[Shown], error) {
	return reply(Shown{a.Focus(in.place())})
}

func (a *API) pick(ctx context.Context, in *pickInput) (*answer[Picked], error) {
	path, err := a.windows.pick(ctx, in.Body.Kind)
	if err != nil {
		return nil, err
	}
	return reply(Picked{path})
}

func (a *API) picked(_ context.Context, in *pickedInput) (*none, error) {
	if !a.windows.picked(in.Body.ID, in.Body.Path) {
		return nil, core.Errorf(core.CodeNotFound, "nobody waits for this answer any more")
	}
	return &none{}, nil
}

func (a *API) desktop(context.Context, *none) (*answer[DesktopState], error) {
	s := DesktopState{Window: a.windows.any()}
	if a.Desktop == nil {
		s.TrayProblem = "this daemon runs without a desktop"
		return reply(s)
	}
	on, err := a.Desktop.StartsAtLogin()
	if err != nil {
		s.LoginProblem = err.Error()
	}
	s.StartAtLogin, s.Paused = on, a.Desktop.Paused()
	s.Tray, s.TrayProblem = a.Desktop.Tray()
	return reply(s)
}

func (a *API) changeDesktop(ctx context.Context, in *desktopInput) (*answer[DesktopState], error) {
	if a.Desktop == nil {
		return nil, core.Errorf(core.CodeUnavailable, "this daemon runs without a desktop")
	}
	if on := in.Body.StartAtLogin; on != nil {
		if err := a.Desktop.SetStartAtLogin(*on); err != nil {
			return nil, &core.Error{Code: core.CodeInternal, Message: "cannot change the start at login", Hint: "Drawbridge can also be started by hand.", Cause: err}
		}
	}
	if on := in.Body.Paused; on != nil {
		if err := a.Desktop.SetPaused(ctx, *on); err != nil {
			return nil, err
		}
	}
	return a.desktop(ctx, nil)
}

func (a *API) quit(context.Context, *none) (*none, error) {
	if a.Desktop == nil {
		return nil, core.Errorf(core.CodeUnavailable, "this daemon ends with the program that started it")
	}
	a.CloseWindows()
	a.Desktop.Quit()
	return &none{}, nil
}

// followWindow is the stream of commands that our window obeys. Only the window, which
// can read the admin token, and the page itself are let in.
func (a *API) followWindow(w http.ResponseWriter, r *http.Request) {
	commands, leave, err := a.windows.join()
	if err != nil {
		writeProblem(w, err)
		return
	}
	defer leave()
	s := newStream(w)
	a.serveCommands(r.Context(), s, commands)
}
