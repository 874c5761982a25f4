package dockerexec

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"
)

// Image says what to make a container from, and how it is confined.
type Image struct {
	Engine  Engine
	Ref     string   // "mcp/time:latest"
	Program string   // in place of the image's own entry point; "" keeps that
	Args    []string // in place of the image's own arguments, when Program is set or there are any
	Env     []string // added to the image's own, KEY=value
	User    string   // "" is the image's own
	Workdir string   // "" is the image's own
	Mounts  []Mount
	Network string  // "" is the Engine's default
	Memory  int64   // bytes; 0 is no limit
	CPUs    float64 // 0 is no limit
	Init    bool    // a small init is process 1 and reaps what ends
	Pull    bool    // fetch the image when it is not there
	Server  string  // whose it is, for the label

	Stderr io.Writer         // must not block; nil discards
	Say    func(line string) // told of what takes long; may be nil
	Ledger string            // folder in which it is kept for Sweep; "" keeps none
	// CloseStdin and Term are how long Stop waits after these steps; zero means 2 s and 3 s.
	CloseStdin, Term time.Duration
}

// Mount is a folder or volume in a container.
type Mount struct {
	Source   string // a path here, or the name of a volume
	Target   string
	ReadOnly bool
}

// Box is a container made from an image, whose main process is the server. Nothing
// in it can escape: with that process the container ends, and all that runs inside.
type Box struct {
	contained
	image  Image
	id     string
	cancel context.CancelFunc
}

// Create makes a container from image and returns when its process runs. ctx bounds
// that only, the download of the image included. Errors wrap ErrNoDocker, ErrPermission,
// ErrNoImage or ErrNoBinary where one of them is the reason; then nothing is left.
func Create(ctx context.Context, image Image) (*Box, error) {
	if image.Ref == "" {
		return nil, errors.New("cannot make container: no image given")
	}
	if image.Stderr == nil {
		image.Stderr = io.Discard
	}
	if image.Say == nil {
		image.Say = func(string) {}
	}
	cli, at, err := connect(image.Engine)
	if err != nil {
		return nil, err
	}
	b := &Box{contained: newContained(cli, at, rand.Text()), image: image}
	// Before the container is made: a crash in between leaves an entry, never a container.
	if err := enlist(image.Ledger, entry{Engine: at, Mark: b.mark}); err != nil {
		image.Say("this container will not be found after a crash: " + err.Error())
	}
	if err := b.start(ctx); err != nil {
		b.undo()
		return nil, err
	}
	return b, nil
}

// undo removes what a failed start has left.
func (b *Box) undo() {
	if b.conn.Conn != nil {
		b.conn.Close()
		b.stdout.Close()
		<-b.streamed
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerLimit)
	defer cancel()
	if _, err := removeMarked(ctx, b.cli, b.at, b.mark); err == nil {
		delist(b.image.Ledger, b.mark)
	}
	b.cli.Close()
}

func (b *Box) start(ctx context.Context) error {
	if err := b.create(ctx); err != nil {
		return err
	}
	attached, err := b.cli.ContainerAttach(ctx, b.id, client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return explain(b.at, b.image.Ref, err)
	}
	b.conn = attached.HijackedResponse
	b.stdin = stdin{conn: &b.conn, once: &sync.Once{}}
	reader, writer := io.Pipe()
	b.stdout = reader
	go func() {
		defer close(b.streamed)
		_, err := stdcopy.StdCopy(writer, sink{b.image.Stderr}, b.conn.Reader)
		if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed) {
			err = nil // watch or Stop said that it is over
		}
		_ = writer.CloseWithError(err)
	}()
	// Asked before the start, so that no end is missed; the answer outlives this start.
	watching, cancel := context.WithCancel(context.WithoutCancel(ctx))
	end := b.cli.ContainerWait(watching, b.id, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	if _, err := b.cli.ContainerStart(ctx, b.id, client.ContainerStartOptions{}); err != nil {
		cancel()
		go func() { // the client's goroutine ends when its word is heard, and not before
			select {
			case <-end.Result:
			case <-end.Error:
			}
		}()
		if missing(err.Error()) || commandless(err) {
			return fmt.Errorf("%w: %q in image %q", ErrNoBinary, b.image.Program, b.image.Ref)
		}
		if errdefs.IsNotFound(err) || errdefs.IsConflict(err) {
			return fmt.Errorf("cannot start a container of image %q: %w", b.image.Ref, err)
		}
		return explain(b.at, b.image.Ref, err)
	}
	b.cancel = cancel
	go b.watch(watching, end)
	return nil
}

// create makes the container, fetching the image where it has to and may.
func (b *Box) create(ctx context.Context) error {
	for pulled := false; ; pulled = true {
		created, err := b.cli.ContainerCreate(ctx, b.options())
		switch {
		case err == nil:
			b.id = created.ID
			for _, w := range created.Warnings {
				b.image.Say(w)
			}
			return nil
		case errdefs.IsNotFound(err) && b.image.Pull && !pulled:
			if err := b.pull(ctx); err != nil {
				return err
			}
		case errdefs.IsNotFound(err):
			return fmt.Errorf("%w: %q", ErrNoImage, b.image.Ref)
		case missing(err.Error()), commandless(err):
			return fmt.Errorf("%w: image %q names none", ErrNoBinary, b.image.Ref)
		case errdefs.IsInvalidArgument(err):
			return fmt.Errorf("%w: image %q: %w", ErrRefused, b.image.Ref, err)
		default:
			return explain(b.at, b.image.Ref, err)
		}
	}
}

func (b *Box) options() client.ContainerCreateOptions {
	i := &b.image
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
	for _, m := range i.Mounts {
		kind := mount.TypeVolume
		if strings.ContainsAny(m.Source, `/\`) {
			kind = mount.TypeBind
		}
		host.Mounts = append(host.Mounts, mount.Mount{Type: kind, Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly})
	}
	return client.ContainerCreateOptions{Config: config, HostConfig: host}
}

// pull fetches the image, without credentials: where they are needed, docker pull has
// them.
func (b *Box) pull(ctx context.Context) error {
	b.image.Say(fmt.Sprintf("fetching image %q", b.image.Ref))
	failed := func(err error) error {
		if ctx.Err() != nil {
			return fmt.Errorf("cannot fetch image %q in time: %w", b.image.Ref, context.Cause(ctx))
		}
		if client.IsErrConnectionFailed(err) {
			return explain(b.at, b.image.Ref, err)
		}
		return fmt.Errorf("%w: %q cannot be fetched: %w", ErrNoImage, b.image.Ref, err)
	}
	answer, err := b.cli.ImagePull(ctx, b.image.Ref, client.ImagePullOptions{})
	if err != nil {
		return failed(err)
	}
	defer answer.Close()
	if err := answer.Wait(ctx); err != nil {
		return failed(err)
	}
	return nil
}

// watch owns the end.
func (b *Box) watch(ctx context.Context, end client.ContainerWaitResult) {
	defer b.cancel()
	select {
	case r := <-end.Result:
		b.exit = Exit{Code: int(r.StatusCode)}
	case <-end.Error: // the Engine went away, or ended the wait
		b.exit = b.ask(ctx)
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

// ask asks what has become of the container until the Engine says it, or is gone.
func (b *Box) ask(ctx context.Context) Exit {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for failures := 0; failures < 5; {
		now, err := b.cli.ContainerInspect(ctx, b.id, client.ContainerInspectOptions{})
		switch {
		case errdefs.IsNotFound(err):
			return Exit{Code: -1, Reason: "the container was removed", Away: true}
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
	return Exit{Code: -1, Reason: "the Docker Engine went away", Away: true}
}

// ID is the container's id, shortened as the docker command does.
func (b *Box) ID() string { return short(b.id) }

// commandless recognises an image that names no program.
func commandless(err error) bool {
	return strings.Contains(strings.ToLower(err.Error()), "no command specified")
}
