package upstream

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Launcher starts the program of a package without the launcher of its entry; *launch.Feature implements
// it.
type Launcher interface {
	// Direct returns how to start the program that spec, a launcher, would start, or false if the
	// launcher has to start it. After an error, nothing may start.
	Direct(server string, spec process.Spec) (direct process.Spec, ok bool, err error)
	// Connected is called after the start of a local server that could be used. It must not block.
	Connected(Launched)
}

// Launched is a start that ended with a connection.
type Launched struct {
	Server  string
	Spec    process.Spec // of the launcher, also after a direct start
	Direct  bool
	Failure error // of the direct start before this one; nil if there was none
	Took    time.Duration
	Usage   func() (process.Usage, error) // of the process
}

// launchAttempt is one start of a server whose launcher may be left out. Its methods may be called on
// nil.
type launchAttempt struct {
	Launched
	launcher Launcher
	began    time.Time
	limit    func() *time.Timer // begins the time limit of a direct start
	timer    *time.Timer
}

// connectDirectly connects to a server that is started without its launcher, if that is possible. If this
// fails, the launcher starts it: only that counts as a failure.
func (d *Dialer) connectDirectly(ctx context.Context, r Request) (Session, error) {
	if d.Launcher == nil || d.trial || r.Server.Type != core.Stdio {
		return d.connect(ctx, r)
	}
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.launch = &launchAttempt{Launched: Launched{Server: r.Server.ID}, launcher: d.Launcher, began: time.Now()}
	r.launch.limit = func() *time.Timer {
		return time.AfterFunc(StartupTimeout(r.Server)/2, func() { cancel(errDirectTimeout) })
	}
	session, err := d.connect(limited, r)
	if r.launch.timer != nil {
		r.launch.timer.Stop()
	}
	if err == nil || ctx.Err() != nil || !r.launch.Direct {
		return session, err
	}
	if exit := session.Process.Exit; exit != nil && limited.Err() == nil {
		if e, ended := exit(); ended && e.Explains(Exited(err)) {
			reason, _, _ := Explain(e.Text, e.Code < 0, d.LastLines(r.Server.ID, MaxLines, r.launch.began))
			err = errors.New(reason)
		}
	}
	d.Logs.Append(r.Server.ID, serverlog.Warn, "its direct start failed, so npx starts it: "+err.Error())
	r.launch = &launchAttempt{Launched: Launched{Server: r.Server.ID, Failure: err}, launcher: d.Launcher, began: time.Now()}
	return d.connect(ctx, r)
}

var errDirectTimeout = errors.New("it did not answer in half of the time that it has for its start")

// choose returns what to start for spec, and records in s what debug information shows.
func (a *launchAttempt) choose(d *Dialer, c *config.Server, spec process.Spec, s *startedProcess) (process.Spec, error) {
	if a == nil {
		return spec, nil
	}
	a.Spec = spec
	if a.Failure != nil {
		return spec, nil
	}
	direct, ok, err := a.launcher.Direct(a.Server, spec)
	if a.Direct = ok; !ok {
		return spec, err
	}
	a.timer = a.limit()
	own := 0 // arguments of the program, which are shown as in the configuration
	for own < min(len(spec.Args), len(direct.Args), len(c.Args)) && spec.Args[len(spec.Args)-1-own] == direct.Args[len(direct.Args)-1-own] {
		own++
	}
	shown := slices.Concat([]string{direct.Path}, direct.Args[:len(direct.Args)-own], c.Args[len(c.Args)-own:])
	s.Command, s.Path = d.redact(osutil.CommandLine(shown...)), direct.Path
	return direct, nil
}

// connected reports a start that succeeded.
func (a *launchAttempt) connected(d *Dialer, started *startedProcess) {
	if a == nil {
		return
	}
	pid := started.describe().PID
	a.Took = time.Since(a.began)
	a.Usage = func() (process.Usage, error) {
		for _, p := range d.running.get(a.Server) {
			if p.PID() == pid {
				return p.Usage()
			}
		}
		return process.Usage{}, errors.New("the process has exited")
	}
	a.launcher.Connected(a.Launched)
}
