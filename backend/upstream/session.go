package upstream

import (
	"context"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Connection is an open connection to a server whose lists have been read. It is implemented by
// *upstream.Connection.
type Connection interface {
	Send(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error)
	Catalog() *core.Catalog
	Ping(ctx context.Context) error
	// Refresh reads the lists of kinds again; see upstream.Conn.
	Refresh(ctx context.Context, kinds ...core.Kind) error
	Era() core.Era
	Version() string
	ID() string
	Done() <-chan struct{}
	Err() error
	// Close closes the connection. It returns after its process has exited.
	Close(ctx context.Context) error
}

// Session is a Connection and a description of the process behind it.
type Session struct {
	Connection
	Process Process
}

// Process describes what was started. The zero value means that nothing was started.
type Process struct {
	Command string              // resolved, without environment
	PID     int                 // 0 when there is no local process
	Exit    func() (Exit, bool) // returns false while it runs; nil if unknown

	Path        string         // path of the executable
	Dir         string         // working directory; "" is that of Drawbridge
	Environment []string       // names of the variables, sorted
	SearchPath  string         // the PATH in which Path was searched
	Warnings    []string       // about how it was started
	Frames      func() []Frame // returns the last messages; nil if not recorded
}

// Exit describes how a process exited.
type Exit struct {
	Code int    // exit status; -1 if it was terminated by a signal
	Text string // for display: "exited with status 3"
	Lost bool   // its container was stopped or removed
	// SignalledByStop is set if Drawbridge had sent it a signal before.
	SignalledByStop bool
}

// Request asks for a connection.
type Request struct {
	Server *config.Server
	Era    core.Era // the only era to try; "" means any, legacy first
	// Owner identifies the instance, for OnNotification.
	Owner string
	// Workspace is the value of ${workspaceFolder}, or "" if unknown.
	Workspace string
	// SkipCatalog skips reading the lists, so the catalog is empty.
	SkipCatalog bool
	// Started is called, from any goroutine, when a process was started, before it answers, and
	// again if another one is started. May be nil.
	Started func(Process)
	// Changed is called, from any goroutine, when the lists of a kind have been read again.
	Changed func(core.Kind)
}

// Explains reports whether the exit status explains more than that the connection broke. A
// status of 0, or a signal that we sent, may be the result of our own stop.
func (e Exit) Explains(byItself bool) bool {
	switch {
	case e.Code > 0:
		return true
	case e.Code < 0:
		return !e.SignalledByStop
	}
	return byItself && !e.SignalledByStop
}
