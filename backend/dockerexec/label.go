package dockerexec

import (
	"context"
	"fmt"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// labelled returns the id of the running container that carries label: the newest
// when several do.
func labelled(ctx context.Context, cli *client.Client, host, label string) (id string, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	list, err := cli.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: make(client.Filters).Add("label", label)})
	if err != nil {
		return "", explain(host, label, err)
	}
	var newest int64
	for _, c := range list.Items {
		if c.State == container.StateRunning && (id == "" || c.Created > newest) {
			id, newest = c.ID, c.Created
		}
	}
	switch {
	case id != "":
		return id, nil
	case len(list.Items) > 0:
		return "", fmt.Errorf("%w: the one with label %q", ErrNotRunning, label)
	}
	return "", fmt.Errorf("%w with label %q", ErrNoContainer, label)
}
