package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"os/user"
	"slices"
	"syscall"
	"time"

	"github.com/drawbridge-mcp/drawbridge/app/features"
	"github.com/drawbridge-mcp/drawbridge/backend/cli"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/dockerexec"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// The linker sets the version, the commit and its date; see the Makefile and build/package.sh.
var (
	version            = "dev"
	commit, commitDate string
)

func main() {
	if mainThreadNeeded {
		onMain.host(program, os.Exit)
	}
	os.Exit(program())
}

// program runs the command line and returns the exit code.
func program() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// Services and cron jobs may have no HOME, which the programs that we start need, too.
	if _, err := os.UserHomeDir(); err != nil {
		if u, err := user.Current(); err == nil && u.HomeDir != "" {
			_ = os.Setenv("HOME", u.HomeDir)
		}
	}
	show := func(url string, f config.Folders, browser bool) error {
		return openUI(url, f.Data, browser, os.Stdout)
	}
	env := terminal.Env{Version: version, Show: show}
	failure := osutil.AttachConsole()
	if failure != nil {
		env.Stderr = failure
	}
	code := cli.Main(ctx, os.Args[1:], cli.Options{
		Env: env, Features: features.Commands(), Commit: commit, CommitDate: commitDate, Serve: serve, Desktop: showOrStart,
		TryServer: tryServer,
	})
	stop()
	// A person started it without a console. Programs that others start report their errors to them.
	if code != 0 && failure != nil && !slices.Contains(os.Args[1:], "serve") && !slices.Contains(os.Args[1:], "stdio") {
		osutil.ShowError("Drawbridge", failure.String())
	}
	return code
}

// containerCleanupTimeout bounds the cleanup of containers after the daemon has ended. It takes no
// time if none is left.
const containerCleanupTimeout = 10 * time.Second

// serve runs the daemon. On Linux this process is a watchdog and the daemon is its child.
func serve(ctx context.Context, o cli.ServeOptions) error {
	if _, watched := process.UnderWatchdog(); !watched && o.Ask != nil {
		if err := offerFreePort(ctx, o, "drawbridge serve"); err != nil {
			return err
		}
	}
	if process.NeedsWatchdog() {
		sweep := func() { // these are not our descendants: Docker Engine started them
			ctx, cancel := context.WithTimeout(context.Background(), containerCleanupTimeout)
			defer cancel()
			_, _ = dockerexec.EndOrphans(ctx, execLedger(o.Folders))
		}
		self, _ := os.Executable()
		code := process.RunWatchdog(os.Args[1:], sweep)
		if code == process.RestartStatus {
			return process.Reexec(self)
		}
		if code != 0 {
			os.Exit(code) // the daemon has reported the reason
		}
		return nil
	}
	lost, _ := process.UnderWatchdog()
	err := withRemedy(runDaemon(ctx, o, lost))
	if errors.Is(err, errRestart) {
		os.Exit(process.RestartStatus)
	}
	writeStartFailure(o.Folders, err)
	if held, ok := errors.AsType[*loopback.HeldError](err); ok {
		hint := "To show that instance, run: drawbridge open."
		if held.Runtime.URL == "" {
			hint = "It is starting or stopping. " + stillStartingHint
		}
		return &core.Error{Code: core.CodeConflict, Message: held.Error(), Hint: hint}
	}
	return err
}

// withRemedy adds to the error of a file what the user can do.
func withRemedy(err error) error {
	path, isPath := errors.AsType[*os.PathError](err)
	link, isLink := errors.AsType[*os.LinkError](err)
	call, isCall := errors.AsType[*os.SyscallError](err) // of a socket
	var cause error
	switch _, explained := errors.AsType[*core.Error](err); {
	case explained || errors.Is(err, errRestart):
		return err
	case isPath:
		cause = path.Err
	case isLink:
		cause = link.Err
	case isCall:
		cause = call.Err
	default:
		return err
	}
	hint := "Check the disk for errors, or choose another data folder with --data, and start Drawbridge again."
	for _, one := range []struct {
		cause error
		hint  string
	}{
		{syscall.EMFILE, "Close other programs, or raise the limit of open files, and start Drawbridge again."},
		{syscall.ENFILE, "Close other programs, or raise the limit of open files, and start Drawbridge again."},
		{syscall.ENOMEM, "Close other programs to free memory, and start Drawbridge again."},
		{syscall.ENOSPC, "Free some disk space, and start Drawbridge again."},
		{syscall.EROFS, "Make the file writable for you, or choose another data folder with --data."},
		{fs.ErrPermission, "Make the file writable for you, or choose another data folder with --data."},
	} {
		if errors.Is(cause, one.cause) {
			hint = one.hint
			break
		}
	}
	return &core.Error{Code: core.CodeUnavailable, Message: err.Error(), Hint: hint, Cause: err}
}

// writeStartFailure writes the error that ends a daemon to the log and to a file for the process
// that started the daemon in the background, such as a shim.
func writeStartFailure(folders config.Folders, err error) {
	if err == nil {
		os.Remove(folders.ExitReasonFile())
		return
	}
	slog.Error("Drawbridge stopped because of an error", "error", err)
	message := err.Error()
	if e, ok := errors.AsType[*core.Error](err); ok {
		message, _ = core.Describe(e)
	}
	_ = os.WriteFile(folders.ExitReasonFile(), []byte(message+"\n"), 0o600) // best effort: the error itself is returned
}
