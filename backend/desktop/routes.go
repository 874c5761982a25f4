package desktop

import (
	"context"
	"net/url"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
)

// Settings controls the desktop integration of the daemon.
type Settings interface {
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

// Feature is the desktop integration, as the API shows it.
type Feature struct {
	URL      string // of the page
	Sessions *loopback.BrowserSessions
	Settings Settings
	windows  windowList
}

// Routes implements web.Feature.
func (f *Feature) Routes(r *web.Router) {
	web.Op(r, "POST", "/api/v1/open-code", "Create a URL for the web UI, with a one-time code", f.openCode)
	web.Op(r, "POST", "/api/v1/window", "Bring the window to the front and show a page in it", f.focusWindow)
	web.Op(r, "POST", "/api/v1/window/pick", "Open a file or folder dialog in the window", f.pick)
	web.Op(r, "POST", "/api/v1/window/picked", "Report the result of a dialog; used by the window", f.picked)
	web.Op(r, "GET", "/api/v1/desktop", "Desktop settings: start at login, pause, tray and window", f.desktop)
	web.Op(r, "PUT", "/api/v1/desktop", "Turn start at login on or off, or pause all servers", f.changeDesktop)
	web.Op(r, "POST", "/api/v1/quit", "Stop the daemon and all servers", f.quit)
}

// OpenURL returns a URL of the page with a one-time code and a path.
func (f *Feature) OpenURL(to string) string {
	address := f.Sessions.OpenURL(f.URL)
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

func (f *Feature) openCode(_ context.Context, in *openInput) (*web.Answer[OpenAddress], error) {
	return web.Reply(OpenAddress{f.OpenURL(in.pagePath())})
}

// Focus brings an open window to the front, at a path of the page; "" keeps the current one. It
// reports whether there is a window.
func (f *Feature) Focus(to string) bool {
	return f.windows.send(windowCommand{Command: "focus", To: cleanPagePath(to)})
}

func (f *Feature) focusWindow(_ context.Context, in *openInput) (*web.Answer[Shown], error) {
	return web.Reply(Shown{f.Focus(in.pagePath())})
}

func (f *Feature) pick(ctx context.Context, in *pickInput) (*web.Answer[Picked], error) {
	path, err := f.windows.pickPath(ctx, in.Body.Kind)
	if err != nil {
		return nil, err
	}
	return web.Reply(Picked{path})
}

func (f *Feature) picked(_ context.Context, in *pickedInput) (*web.None, error) {
	if !f.windows.deliverPick(in.Body.ID, in.Body.Path) {
		return nil, core.Errorf(core.CodeNotFound, "this dialog is no longer open")
	}
	return &web.None{}, nil
}

func (f *Feature) desktop(context.Context, *web.None) (*web.Answer[DesktopState], error) {
	s := DesktopState{Window: f.windows.isOpen()}
	on, err := f.Settings.StartsAtLogin()
	if err != nil {
		s.LoginProblem = err.Error()
	}
	s.StartAtLogin, s.Paused = on, f.Settings.Paused()
	s.Tray, s.TrayProblem = f.Settings.Tray()
	return web.Reply(s)
}

func (f *Feature) changeDesktop(ctx context.Context, in *desktopInput) (*web.Answer[DesktopState], error) {
	if on := in.Body.StartAtLogin; on != nil {
		if err := f.Settings.SetStartAtLogin(*on); err != nil {
			return nil, &core.Error{Code: core.CodeInternal, Message: "cannot change the start-at-login setting", Hint: "Drawbridge can also be started manually.", Cause: err}
		}
	}
	if on := in.Body.Paused; on != nil {
		if err := f.Settings.SetPaused(ctx, *on); err != nil {
			return nil, err
		}
	}
	return f.desktop(ctx, nil)
}

func (f *Feature) quit(context.Context, *web.None) (*web.None, error) {
	f.CloseWindows()
	f.Settings.Quit()
	return &web.None{}, nil
}
