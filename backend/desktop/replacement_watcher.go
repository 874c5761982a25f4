package desktop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

const (
	replacementSubject = "replacement"
	maxPollInterval    = 30 * time.Second
	minPollInterval    = 20 * time.Millisecond
	versionLimit       = 10 * time.Second // for the new program to print its version
)

// ReplacementWatcherOptions are the dependencies of a ReplacementWatcher. All are required.
type ReplacementWatcherOptions struct {
	Program string // the path of this program's file
	Version string // of this program
	Bus     *core.Bus
	Log     *slog.Logger
	// IdleTime is how long no call may have run before the restart; 0 means that there is none.
	IdleTime func() time.Duration
	// Activity returns the id of the newest call, and whether something runs that a restart would
	// interrupt.
	Activity func() (lastCall int64, busy bool)
	// Restart is called once. It must not block.
	Restart func()
}

// ReplacementWatcher restarts the daemon after another version of the program was installed over
// it, as a package manager does.
type ReplacementWatcher struct {
	ReplacementWatcherOptions
	file   programFile
	notice atomic.Pointer[core.Notice]
}

// NewReplacementWatcher returns a ReplacementWatcher for the program that is at o.Program now.
func NewReplacementWatcher(o ReplacementWatcherOptions) *ReplacementWatcher {
	original, err := os.Stat(o.Program)
	if err != nil {
		o.Log.Debug("Cannot watch the program file; updates of the program will not be detected", "error", err)
	}
	return &ReplacementWatcher{ReplacementWatcherOptions: o, file: programFile{original: original}}
}

// Notice returns the notice about an installed version that does not run yet; its Message is "" if
// there is none.
func (r *ReplacementWatcher) Notice() core.Notice {
	if n := r.notice.Load(); n != nil {
		return *n
	}
	return core.Notice{}
}

// Run watches the program's file until ctx is done. It must be called once.
func (r *ReplacementWatcher) Run(ctx context.Context) error {
	var lastCall int64
	var idleSince time.Time
	for {
		idleTime := r.IdleTime()
		select {
		case <-time.After(min(max(idleTime/5, minPollInterval), maxPollInterval)):
		case <-ctx.Done():
			return ctx.Err()
		}
		if idleTime == 0 || r.file.original == nil {
			continue
		}
		installed := r.file.replacementVersion(ctx, r.Program, r.Log)
		if installed == r.Version {
			installed = ""
		}
		r.show(installed)
		newest, busy := r.Activity()
		if installed == "" || busy || newest != lastCall {
			lastCall, idleSince = newest, time.Now()
			continue
		}
		if time.Since(idleSince) >= idleTime {
			r.Log.Info("Restarting with the installed version", "version", installed)
			r.Restart()
			<-ctx.Done()
			return ctx.Err()
		}
	}
}

// programFile is the file of a program that may be replaced.
type programFile struct {
	original os.FileInfo
	seen     os.FileInfo // at the previous poll; nil if it was the original or missing
	checked  os.FileInfo // the file whose version is known
	version  string      // of checked; "" if it does not start
}

// replacementVersion returns the version of a program that has replaced the original one, and that
// was complete at the previous check already. It returns "" if there is none, or if it does not
// start.
func (f *programFile) replacementVersion(ctx context.Context, path string, log *slog.Logger) (version string) {
	now, err := os.Stat(path)
	if err != nil || sameFile(now, f.original) { // it is missing for a moment during an installation
		f.seen = nil
		return ""
	}
	if f.seen == nil || !sameFile(now, f.seen) { // it may still be written
		f.seen = now
		return ""
	}
	if f.checked == nil || !sameFile(now, f.checked) {
		f.checked = now
		if f.version, err = programVersion(ctx, path); err != nil {
			log.Warn("The program was replaced by one that does not start", "error", err)
		}
	}
	return f.version
}

// show publishes the notice about an installed version, or its end if version is "".
func (r *ReplacementWatcher) show(version string) {
	n := core.Notice{Subject: replacementSubject}
	if version != "" {
		n.Message = fmt.Sprintf("Drawbridge %s is installed, but %s is still running. It restarts after %s without calls. To restart it now, quit it and start it again.", version, r.Version, r.IdleTime())
	}
	if old := r.notice.Swap(&n); old == nil && version == "" || old != nil && old.Message == n.Message {
		return
	}
	r.Bus.Publish(core.NoticeEvent, n)
}

// sameFile reports whether a file has not been replaced or rewritten between a and b.
func sameFile(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

func programVersion(ctx context.Context, program string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	cmd := osutil.HideConsole(exec.CommandContext(ctx, program, "version", "--json"))
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return "", err
	}
	var said struct{ Version string }
	if err := json.Unmarshal(out, &said); err != nil {
		return "", err
	}
	if said.Version == "" {
		return "", errors.New("it printed no version")
	}
	return said.Version, nil
}
