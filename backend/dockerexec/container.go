package dockerexec

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"
)

// ContainerSpec specifies a container to create, and its limits.
type ContainerSpec struct {
	Engine  Engine
	Ref     string   // "mcp/time:latest"
	Program string   // replaces the entry point of the image; "" keeps it
	Args    []string // replace the command of the image if Program is set or Args is not empty
	Env     []string // KEY=value, added to the environment of the image
	User    string   // "" means that of the image
	Workdir string   // "" means that of the image
	Mounts  []Mount
	Network string  // "" means the Engine's default
	Memory  int64   // bytes; 0 means no limit
	CPUs    float64 // 0 means no limit
	// ReadOnly makes the container's own files read-only, except for a temporary /tmp, and forbids
	// new privileges.
	ReadOnly bool
	Init     bool   // run an init as process 1, which reaps zombies
	Pull     bool   // pull the image if it is missing
	Server   string // server id, for the label

	Stderr     io.Writer         // must not block; nil discards it
	OnProgress func(line string) // called with progress messages and warnings; may be nil
	Ledger     string            // folder of the records for EndOrphans; "" means none
	// CloseStdin and Term are the timeouts of these steps of Stop; zero means 2 s and 3 s.
	CloseStdin, Term time.Duration
}

// Mount is a bind mount or a volume in a container.
type Mount struct {
	Source   string // a path on the host, or the name of a volume
	Target   string
	ReadOnly bool
}

// Container is a container created from an image, whose main process is the server. When that
// process exits, the Engine ends all processes in the container, so none can escape.
type Container struct {
	containedProcess
	spec   ContainerSpec
	id     string
	cancel context.CancelFunc
}

// Create creates a container from image and starts it. ctx bounds only that, including the pull
// of the image. Errors wrap ErrNoDocker, ErrPermission, ErrNoImage, ErrRefused or ErrNoBinary if
// one of them is the cause. If Create fails, it has removed the container.
func Create(ctx context.Context, image ContainerSpec) (*Container, error) {
	if image.Ref == "" {
		return nil, errors.New("cannot create container: no image is specified")
	}
	if image.Stderr == nil {
		image.Stderr = io.Discard
	}
	if image.OnProgress == nil {
		image.OnProgress = func(string) {}
	}
	cli, at, err := newClient(image.Engine)
	if err != nil {
		return nil, err
	}
	b := &Container{containedProcess: newContained(cli, at, rand.Text()), spec: image}
	// Written before the container is created: a crash in between leaves a record without a
	// container, never a container without a record.
	if err := writeEntry(image.Ledger, entry{Engine: at, Mark: b.mark}); err != nil {
		image.OnProgress("this container will not be found after a crash: " + err.Error())
	}
	if err := b.start(ctx); err != nil {
		b.undo()
		return nil, err
	}
	return b, nil
}

// undo removes what a failed start has created.
func (b *Container) undo() {
	if b.conn.Conn != nil {
		b.conn.Close()
		b.stdout.Close()
		<-b.streamed
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	if _, err := removeMarked(ctx, b.cli, b.engine, b.mark); err == nil {
		removeEntry(b.spec.Ledger, b.mark)
	}
	b.cli.Close()
}

func (b *Container) start(ctx context.Context) error {
	if err := b.create(ctx); err != nil {
		return err
	}
	attached, err := b.cli.ContainerAttach(ctx, b.id, client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return translateError(b.engine, b.spec.Ref, err)
	}
	b.conn = attached.HijackedResponse
	b.stdin = stdin{conn: &b.conn, once: &sync.Once{}}
	reader, writer := io.Pipe()
	b.stdout = reader
	go func() {
		defer close(b.streamed)
		_, err := stdcopy.StdCopy(writer, errorIgnoringWriter{b.spec.Stderr}, b.conn.Reader)
		if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed) {
			err = nil // set by watch or Stop
		}
		_ = writer.CloseWithError(err)
	}()
	// Wait before the start, so that an early exit is not missed. The wait must outlive ctx.
	watching, cancel := context.WithCancel(context.WithoutCancel(ctx))
	end := b.cli.ContainerWait(watching, b.id, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	if _, err := b.cli.ContainerStart(ctx, b.id, client.ContainerStartOptions{}); err != nil {
		cancel()
		go func() { // the client's goroutine ends only after its result was received
			select {
			case <-end.Result:
			case <-end.Error:
			}
		}()
		if isMissingProgram(err.Error()) || isMissingCommand(err) {
			return fmt.Errorf("%w: %q in image %q", ErrNoBinary, b.spec.Program, b.spec.Ref)
		}
		if errdefs.IsNotFound(err) || errdefs.IsConflict(err) {
			return fmt.Errorf("cannot start a container from image %q: %w", b.spec.Ref, err)
		}
		return translateError(b.engine, b.spec.Ref, err)
	}
	b.cancel = cancel
	go b.awaitExit(watching, end)
	return nil
}

// create creates the container. It pulls the image if that is missing and Pull is set.
func (b *Container) create(ctx context.Context) error {
	for pulled := false; ; pulled = true {
		created, err := b.cli.ContainerCreate(ctx, b.options())
		switch {
		case err == nil:
			b.id = created.ID
			for _, w := range created.Warnings {
				b.spec.OnProgress(w)
			}
			return nil
		case errdefs.IsNotFound(err) && b.spec.Pull && !pulled:
			if err := b.pull(ctx); err != nil {
				return err
			}
		case errdefs.IsNotFound(err):
			return fmt.Errorf("%w: %q", ErrNoImage, b.spec.Ref)
		case isMissingProgram(err.Error()), isMissingCommand(err):
			return fmt.Errorf("%w: image %q has no command", ErrNoBinary, b.spec.Ref)
		case errdefs.IsInvalidArgument(err):
			return fmt.Errorf("%w: image %q: %w", ErrRefused, b.spec.Ref, err)
		default:
			return translateError(b.engine, b.spec.Ref, err)
		}
	}
}

func (b *Container) options() client.ContainerCreateOptions {
	i := &b.spec
	config := &container.Config{
		Image: i.Ref, Env: i.Env, User: i.User, WorkingDir: i.Workdir,
		AttachStdin: true, AttachStdout: true, AttachStderr: true, OpenStdin: true, StdinOnce: true,
		Labels: map[string]string{ServerLabel: i.Server, runLabel: b.mark},
	}
	if i.Program != "" {
		config.Entrypoint = []string{i.Program}
	}
	if i.Program != "" || len(i.Args) > 0 {
		config.Cmd = i.Args
	}
	host := &container.HostConfig{
		AutoRemove: true, NetworkMode: container.NetworkMode(i.Network), Init: &i.Init,
		Resources: container.Resources{Memory: i.Memory, NanoCPUs: int64(i.CPUs * 1e9)},
	}
	if i.ReadOnly {
		host.ReadonlyRootfs, host.Tmpfs, host.SecurityOpt = true, map[string]string{"/tmp": ""}, []string{"no-new-privileges"}
	}
	for _, m := range i.Mounts {
		kind := mount.TypeVolume
		if strings.ContainsAny(m.Source, `/\`) {
			kind = mount.TypeBind
		}
		host.Mounts = append(host.Mounts, mount.Mount{Type: kind, Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly})
	}
	return client.ContainerCreateOptions{Config: config, HostConfig: host}
}

// pull pulls the image without credentials. For images that need a login, the user has to run
// docker pull.
func (b *Container) pull(ctx context.Context) error {
	b.spec.OnProgress(fmt.Sprintf("pulling image %q", b.spec.Ref))
	failed := func(err error) error {
		if ctx.Err() != nil {
			return fmt.Errorf("cannot pull image %q in time: %w", b.spec.Ref, context.Cause(ctx))
		}
		if client.IsErrConnectionFailed(err) {
			return translateError(b.engine, b.spec.Ref, err)
		}
		return fmt.Errorf("%w: cannot pull %q: %w", ErrNoImage, b.spec.Ref, err)
	}
	answer, err := b.cli.ImagePull(ctx, b.spec.Ref, client.ImagePullOptions{})
	if err != nil {
		return failed(err)
	}
	defer answer.Close()
	if err := answer.Wait(ctx); err != nil {
		return failed(err)
	}
	return nil
}

// awaitExit waits for the exit of the container and closes done.
func (b *Container) awaitExit(ctx context.Context, end client.ContainerWaitResult) {
	defer b.cancel()
	select {
	case r := <-end.Result:
		b.exit = Exit{Code: int(r.StatusCode)}
	case <-end.Error: // the Engine stopped, or ended the wait
		b.exit = b.pollExit(ctx)
	}
	_ = b.stdin.Close()
	grace := time.NewTimer(outputGrace)
	defer grace.Stop()
	select {
	case <-b.streamed:
	case <-grace.C:
		_ = b.conn.Conn.SetReadDeadline(time.Now())
	}
	close(b.done)
}

// pollExit polls the Engine for the exit status until the container has stopped, the Engine does
// not answer or ctx is done.
func (b *Container) pollExit(ctx context.Context) Exit {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for failures := 0; failures < 5; {
		now, err := b.cli.ContainerInspect(ctx, b.id, client.ContainerInspectOptions{})
		switch {
		case errdefs.IsNotFound(err):
			return Exit{Code: -1, Reason: "the container was removed", Lost: true}
		case err != nil:
			failures++
		case now.Container.State != nil && !now.Container.State.Running:
			return Exit{Code: now.Container.State.ExitCode}
		default:
			failures = 0
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return Exit{Code: -1, Reason: "it was stopped"}
		}
	}
	return Exit{Code: -1, Reason: "the connection to the Docker Engine was lost", Lost: true}
}

// ID returns the id of the container, shortened as by the docker command.
func (b *Container) ID() string { return shortID(b.id) }

// isMissingCommand reports whether err means that an image has no command.
func isMissingCommand(err error) bool {
	return strings.Contains(strings.ToLower(err.Error()), "no command specified")
}

// containedProcess is the part that Exec and Container have in common: the streams, the exit
// status and the state of Stop. They differ in how they detect the exit and in how they stop the
// process.
type containedProcess struct {
	cli    *client.Client
	engine Engine
	mark   string
	conn   client.HijackedResponse
	stdin  stdin
	stdout *io.PipeReader

	streamed chan struct{} // closed at the end of stdout and stderr
	done     chan struct{}
	exit     Exit // set before done closes

	ending *osutil.Closer
}

func newContained(cli *client.Client, at Engine, mark string) containedProcess {
	return containedProcess{
		cli: cli, engine: at, mark: mark,
		streamed: make(chan struct{}), done: make(chan struct{}), ending: osutil.NewCloser(),
	}
}

// Stdin returns the process's standard input. It supports SetWriteDeadline.
func (p *containedProcess) Stdin() io.WriteCloser { return p.stdin }

// Stdout returns the process's standard output. It must be read, because otherwise stderr is
// blocked as well.
func (p *containedProcess) Stdout() io.Reader { return p.stdout }

// Done is closed when the process has exited. In a container that was created for it, all its
// descendants have exited too. In another container they have been killed, if there is a shell to
// do that.
func (p *containedProcess) Done() <-chan struct{} { return p.done }

// Exit returns how the process exited. It is valid once Done is closed.
func (p *containedProcess) Exit() Exit {
	select {
	case <-p.done:
		return p.exit
	default:
		return Exit{Code: -1, Reason: "still running"}
	}
}

// Stop stops the process and removes the container: it closes stdin, then sends SIGTERM, then
// kills. It is idempotent and returns when the container has been removed. If ctx is done, Stop
// skips the remaining timeouts. If it returns an error, the record of the container remains in
// the ledger.
//
// Stop also releases the connection, so it must be called for every Container.
func (b *Container) Stop(ctx context.Context) error {
	return b.ending.Run(ctx, b.stop)
}

func (b *Container) stop() error {
	_ = b.stdin.Close()
	if !b.ending.Wait(b.done, orDefault(b.spec.CloseStdin, defaultCloseStdin)) {
		b.sendTerm()
		b.ending.Wait(b.done, orDefault(b.spec.Term, defaultTerm))
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	_, err := removeMarked(ctx, b.cli, b.engine, b.mark)
	if err != nil {
		err = fmt.Errorf("cannot remove the container created from image %q: %w", b.spec.Ref, err)
	} else {
		removeEntry(b.spec.Ledger, b.mark)
	}
	b.conn.Close()
	b.stdout.Close()
	<-b.streamed
	b.cancel()
	<-b.done
	b.cli.Close()
	return err
}

func (b *Container) sendTerm() {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	_, _ = b.cli.ContainerKill(ctx, b.id, client.ContainerKillOptions{Signal: "TERM"})
}

// removeMarked removes all containers with the mark as a label until none is left, and returns
// their number.
func removeMarked(ctx context.Context, cli *client.Client, at Engine, mark string) (removed int, err error) {
	seen := map[string]bool{}
	for {
		list, err := cli.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: make(client.Filters).Add("label", runLabel+"="+mark)})
		if err != nil {
			return len(seen), translateError(at, "", err)
		}
		if len(list.Items) == 0 {
			return len(seen), nil
		}
		for _, c := range list.Items {
			seen[c.ID] = true
			// A conflict means that the Engine is removing it at this moment.
			_, rm := cli.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
			if rm != nil && !errdefs.IsNotFound(rm) && !errdefs.IsConflict(rm) {
				err = errors.Join(err, rm)
			}
		}
		pause := time.NewTimer(50 * time.Millisecond)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return len(seen), errors.Join(context.Cause(ctx), err)
		}
	}
}

// pingInterval is the interval of attempts to reach an Engine that does not answer.
const pingInterval = 500 * time.Millisecond

// WaitUntilStartable blocks until a start at p, which failed because of the Engine or the
// container, may succeed: the Engine answers again, or it reports that a container has started.
// It may return too early. The error is that of ctx, or means that waiting is useless.
func WaitUntilStartable(ctx context.Context, p Selector) error {
	cli, at, err := newClient(p.Engine)
	if err != nil {
		return err
	}
	defer cli.Close()
	away := false
	for {
		if err := ping(ctx, cli); err == nil {
			if away {
				return nil
			}
			if p == (Selector{Engine: p.Engine}) {
				return nil // only the Engine was missing
			}
			if found, err := waitForStart(ctx, cli, at, p); found || err != nil {
				return err
			}
		} else if errors.Is(translateError(at, "", err), ErrPermission) {
			return err
		}
		away = true // which also ended the event stream
		pause := time.NewTimer(pingInterval)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return context.Cause(ctx)
		}
	}
}

func ping(ctx context.Context, cli *client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err := cli.Ping(ctx, client.PingOptions{})
	return err
}

// waitForStart waits for the start event of the container. It returns false if the event stream
// ended, because the Engine stopped.
func waitForStart(ctx context.Context, cli *client.Client, at Engine, p Selector) (bool, error) {
	following, stop := context.WithCancel(ctx)
	defer stop()
	filters := make(client.Filters).Add("type", "container").Add("event", "start", "unpause")
	if p.Name != "" {
		filters.Add("container", p.Name)
	}
	for _, label := range p.labels() {
		filters.Add("label", label)
	}
	events := cli.Events(following, client.EventsListOptions{Filters: filters})
	// The container may have started before the subscription. Do not start it here; the next
	// start does that.
	passive := p
	passive.Start = false
	if _, err := findRunning(ctx, cli, at, passive); err == nil {
		return true, nil
	}
	select {
	case <-events.Messages:
		return true, nil
	case <-events.Err:
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		return false, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// Errors of this package wrap one of these if the user can do something about the cause.
var (
	ErrNoDocker = errors.New("the Docker Engine is not responding")
	ErrNoImage  = errors.New("no such image")
	// ErrRefused means that the Engine rejects the configuration of the container.
	ErrRefused     = errors.New("the Docker Engine refused to create the container")
	ErrPermission  = errors.New("this user does not have permission to use the Docker Engine")
	ErrNoContainer = errors.New("no such container")
	ErrNotRunning  = errors.New("the container is not running")
	ErrNoBinary    = errors.New("no such program in the container")
	// ErrNoShell means that a process could not be stopped, because the image has no shell that
	// could send a signal. Restarting the container stops it.
	ErrNoShell = errors.New("cannot stop the process in the container, because the image has no shell; restarting the container stops it")
)

// translateError converts an error of the Engine's client into one of this package.
func translateError(at Engine, container string, err error) error {
	host := at.Host
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission), errdefs.IsPermissionDenied(err),
		client.IsErrConnectionFailed(err) && strings.Contains(err.Error(), "permission denied"):
		// The client preserves only the text of this error.
		return fmt.Errorf("%w: %s (is this user in the docker group?)", ErrPermission, host)
	case errdefs.IsNotFound(err):
		return fmt.Errorf("%w: %q", ErrNoContainer, container)
	case errdefs.IsConflict(err):
		return fmt.Errorf("%w: %q", ErrNotRunning, container)
	case client.IsErrConnectionFailed(err) && !socketExists(host):
		return fmt.Errorf("%w: %s does not exist", ErrNoDocker, strings.TrimPrefix(host, "unix://"))
	case client.IsErrConnectionFailed(err):
		return fmt.Errorf("%w at %s: %w", ErrNoDocker, host, err)
	}
	return err
}

// socketExists returns false if host is a Unix socket that does not exist.
func socketExists(host string) bool {
	path, local := strings.CutPrefix(host, "unix://")
	if !local {
		return true
	}
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
