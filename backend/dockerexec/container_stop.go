package dockerexec

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

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
