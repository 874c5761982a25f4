package dockerexec

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"
)

// requestQuery makes watch query the Engine immediately.
func (e *Exec) requestQuery() {
	select {
	case e.queryNow <- struct{}{}:
	default:
	}
}

// awaitExit waits for the exit of the process. It queries the Engine after an event, after the
// end of the output, and periodically.
func (e *Exec) awaitExit(ctx context.Context, cancel context.CancelFunc) {
	defer cancel()
	go e.listen(ctx)
	const often, seldom = 200 * time.Millisecond, 10 * time.Second
	timer := time.NewTimer(0)
	defer timer.Stop()
	failures := 0
	for {
		select {
		case <-e.queryNow:
		case <-timer.C:
		case <-e.abandoned:
			e.exit = Exit{Code: -1, Reason: "left running: cannot stop it"}
			close(e.done)
			return
		}
		exit, over, err := e.queryExit()
		if over {
			e.exit = e.exitCause(exit)
			break
		}
		pause := seldom
		switch {
		case err != nil:
			if failures++; failures >= 5 && e.streamEnded() {
				e.exit = Exit{Code: -1, Reason: "the connection to the Docker Engine was lost", Lost: true}
				over = true
			}
			pause = often
		case e.streamEnded(): // its output has ended, but it still runs
			failures, pause = 0, often
		default:
			failures = 0
		}
		if over {
			break
		}
		timer.Reset(pause)
	}
	if e.shell && e.exit.Reason == "" {
		// Signals only processes with our mark, because the id of the group may have been reused.
		ctx, stop := context.WithTimeout(context.Background(), requestTimeout)
		_, _ = e.signal(ctx, "KILL", 0)
		stop()
	}
	_ = e.stdin.Close()
	grace := time.NewTimer(outputGrace)
	defer grace.Stop()
	select {
	case <-e.streamed:
	case <-grace.C:
	}
	// A process without our mark may keep the output open, so reading has a deadline.
	_ = e.conn.Conn.SetReadDeadline(time.Now().Add(outputGrace))
	e.removeFromLedger()
	close(e.done)
}

// queryExit queries the Engine whether the process has exited.
func (e *Exec) queryExit() (exit Exit, over bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	now, err := e.cli.ExecInspect(ctx, e.id, client.ExecInspectOptions{})
	switch {
	case errdefs.IsNotFound(err):
		return Exit{Code: -1, Reason: "the container was removed", Lost: true}, true, nil
	case errdefs.IsConflict(err):
		return Exit{Code: -1, Reason: "the container stopped", Lost: true}, true, nil
	case err != nil:
		return Exit{}, false, err
	case now.Running:
		return Exit{}, false, nil
	}
	return Exit{Code: now.ExitCode}, true, nil
}

// statusKilled is the exit status after SIGKILL, which a process also has if its container was
// stopped.
const statusKilled = 128 + 9

// exitCause determines whether a process was killed because its container was stopped.
func (e *Exec) exitCause(exit Exit) Exit {
	if exit.Code == statusKilled && !e.signalledByStop.Load() && e.containerEnded() {
		return Exit{Code: -1, Reason: "the container stopped", Lost: true}
	}
	return exit
}

// containerEnded reports whether this run of the container has ended or is ending. The Engine
// reports the end of a process earlier than the end of its container, on a busy machine by seconds,
// so this function waits until a new process can run in the container, or until
// defaultExitCauseTimeout.
func (e *Exec) containerEnded() bool {
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(e.spec.exitCauseTimeout, defaultExitCauseTimeout))
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		alive := false
		if e.shell {
			found, err := e.signal(ctx, "KILL", 0)
			alive = found >= 0 && err == nil
		}
		// Asked afterwards, because the process may have run in the next run of the container.
		if e.run.hasEnded(ctx, e.cli) {
			return true
		}
		if alive {
			return false
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
}

// listen calls ask when the Engine reports the end of an exec or a container.
func (e *Exec) listen(ctx context.Context) {
	for ctx.Err() == nil {
		events := e.cli.Events(ctx, client.EventsListOptions{
			Filters: make(client.Filters).Add("container", e.container).Add("event", "exec_die", "die", "destroy"),
		})
		e.requestQuery() // for events before the subscription
	stream:
		for {
			select {
			case <-events.Messages:
				e.requestQuery()
			case <-events.Err:
				break stream
			case <-ctx.Done():
				return
			}
		}
		timer := time.NewTimer(time.Second)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// Stop stops the process and its descendants in the container: it closes stdin, then sends
// SIGTERM, then SIGKILL. It is idempotent and returns when the Engine reports that the process
// has exited. If ctx is done, Stop skips the remaining timeouts. ErrNoShell means that the
// process may still run.
//
// Stop also releases the connection, so it must be called for every Exec.
func (e *Exec) Stop(ctx context.Context) error {
	return e.ending.Run(ctx, e.stop)
}

func (e *Exec) stop() error {
	defer func() {
		e.conn.Close()
		e.stdout.Close()
		e.cli.Close()
	}()
	_ = e.stdin.Close()
	e.requestQuery()
	if e.ending.Wait(e.done, orDefault(e.spec.CloseStdin, defaultCloseStdin)) {
		return nil
	}
	e.signalledByStop.Store(true)
	_ = e.sendSignal("TERM") // the wait below shows whether it was effective
	e.requestQuery()
	if e.ending.Wait(e.done, orDefault(e.spec.Term, defaultTerm)) {
		return nil
	}
	var err error
	for deadline := time.Now().Add(killTimeout); time.Now().Before(deadline); {
		err = e.sendSignal("KILL")
		e.requestQuery()
		if osutil.WaitAtMost(e.done, 200*time.Millisecond) {
			return nil
		}
	}
	if err == nil {
		err = errors.New("it did not exit after being killed")
	}
	close(e.abandoned) // nothing more can be done
	<-e.done
	return fmt.Errorf("cannot stop %q in the container %s: %w", e.spec.Cmd[0], e.spec.Selector, err)
}

// sendSignal sends a signal if the process still runs. After its exit its pid could be reused.
func (e *Exec) sendSignal(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	now, err := e.cli.ExecInspect(ctx, e.id, client.ExecInspectOptions{})
	if err != nil || !now.Running {
		return err
	}
	if !e.shell {
		if signalFromHost(now.PID, e.container, name) {
			return nil
		}
		return ErrNoShell
	}
	_, err = e.signal(ctx, name, e.pid)
	return err
}

// signal runs killScript in the container and returns the number of processes with our mark, or -1
// if the script did not run, for example because the container is ending.
func (e *Exec) signal(ctx context.Context, name string, group int) (found int, err error) {
	return signalInside(ctx, e.cli, e.container, e.spec.User, name, group, e.mark)
}

func signalInside(ctx context.Context, cli *client.Client, container, user, name string, group int, marks ...string) (int, error) {
	pattern := MarkVariable + "=" + strings.Join(marks, "\n"+MarkVariable+"=") // one pattern per line
	out, err := output(ctx, cli, container, user, []string{"/bin/sh", "-c", killScript, "sh", name, strconv.Itoa(group), pattern})
	if err != nil {
		return 0, err
	}
	found, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil { // the text of the Engine's error
		return -1, nil
	}
	return found, nil
}

// output runs a command in a container and returns its stdout, at most 64 KiB.
func output(ctx context.Context, cli *client.Client, container, user string, cmd []string) (string, error) {
	created, err := cli.ExecCreate(ctx, container, client.ExecCreateOptions{AttachStdout: true, AttachStderr: true, User: user, Cmd: cmd})
	if err != nil {
		return "", err
	}
	attached, err := cli.ExecAttach(ctx, created.ID, client.ExecAttachOptions{})
	if err != nil {
		return "", err
	}
	defer attached.Close()
	release := context.AfterFunc(ctx, attached.Close)
	defer release()
	var out bytes.Buffer
	if _, err := stdcopy.StdCopy(&out, io.Discard, io.LimitReader(attached.Reader, 64<<10)); err != nil {
		return "", err
	}
	return out.String(), nil
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}
