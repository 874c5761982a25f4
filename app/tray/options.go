package tray

import (
	"context"
	"log/slog"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// MenuState is the state that the menu shows besides the servers.
type MenuState struct {
	Waiting         int        // pending approvals
	Calls           []HeldCall // calls that wait for approval, oldest first
	Paused          bool       // all servers are paused
	PausedUntil     time.Time  // when they are resumed; zero if they are not, or only by the user
	Idle            string     // why no server can run, such as "All 3 servers are disabled"; "" if one can
	RecordingPaused bool
	StartAtLogin    bool
	Profiles        []string        // names of the profiles
	Clients         []ClientProfile // the clients that can be assigned to a profile
	// Visible is the number of tools that clients see, by server id, for servers with hidden tools.
	Visible map[string]int
}

// HeldCall is a call that waits for approval.
type HeldCall struct {
	ID                   string // of the approval
	Server, Tool, Client string
	Arguments            string // JSON text
}

// ClientProfile is a client with the profile that it is assigned to.
type ClientProfile struct{ Client, Profile string } // Profile is "" if none is assigned

// RecentCall is a finished call.
type RecentCall struct {
	ID           int64
	Server, Tool string
	Failed       bool
	Took         time.Duration
}

// Options configures the tray. All fields are required. The functions are called on separate
// goroutines and may block, except where noted. After a function that changes a fact the menu is
// updated.
type Options struct {
	Statuses  func() []core.ServerStatus
	MenuState func() MenuState // called for each update of the menu: it must not block
	// Recent returns the newest finished calls, newest first. It is called every recentInterval and
	// may block until its context ends.
	Recent  func(context.Context) []RecentCall
	Bus     *core.Bus
	Open    func(to string) // show the window at a route; "" means the current one
	Quit    func()          // stop the program
	Start   func(id string)
	Stop    func(id string)
	Restart func(id string)

	Answer         func(id string, approve bool) // approve a held call once, or deny it
	SetProfile     func(client, profile string)  // assign a client to a profile, or with "" to none
	Pause          func(on bool)                 // pause or resume all servers
	PauseFor       func(limit time.Duration)     // pause all servers and resume them after limit
	PauseRecording func(on bool)
	StartAtLogin   func(on bool)
	CopyAddress    func() // copy the bridge's address to the clipboard

	// Shown is called when the icon appears, and with the reason when it cannot be shown.
	Shown func(shown bool, why string)
	Log   *slog.Logger
}

// waitWithoutIcon reports why there is no icon, and waits until ctx is done.
func waitWithoutIcon(ctx context.Context, o Options, why string) error {
	if ctx.Err() == nil {
		o.Shown(false, why)
		o.Log.Info("No tray icon", "reason", why)
		<-ctx.Done()
	}
	return nil
}
