package guests

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/spf13/cobra"
)

// Commands adds the commands for guests.
func Commands(e *terminal.Env, root *cobra.Command) {
	cmd := &cobra.Command{
		Use: "guests", Aliases: []string{"guest"}, Short: "List guests: clients in containers and on other hosts", Args: terminal.NoArgs,
		Long: "List guests: clients in a container, in a virtual machine or on another host, which use the servers of this machine through a Unix socket of their own. No port is opened.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			t := terminal.Table{Empty: "There are no guests. Add one with: drawbridge guests add NAME", Head: []string{"Guest", "Profile", "Approval", "Folder"}, Keep: []bool{true, true, true, true}}
			return terminal.ShowList(cmd.Context(), e, "guests", nil, t, func(g Guest) []string {
				return []string{g.Name, cmp.Or(g.Profile, "(everything)"), g.Approval, cmp.Or(g.Problem, e.ShortPath(g.Folder))}
			})
		},
	}
	var profile, approval string
	var uid int
	add := &cobra.Command{
		Use: "add NAME", Short: "Add a guest, and print how to connect it", Args: terminal.ArgCount(1, 1),
		Example: "  drawbridge guests add blog --profile office",
		RunE: func(cmd *cobra.Command, args []string) error {
			body := map[string]any{"name": args[0], "profile": profile, "approval": approval, "uid": uid}
			return terminal.Show(cmd.Context(), e, http.MethodPost, "guests", nil, body, func(g Guest) error { return printSetup(e, g) })
		},
	}
	add.Flags().StringVar(&profile, "profile", "", "the only `PROFILE` that the guest can use; without it, all servers")
	add.Flags().StringVar(&approval, "approval", "ask", "whether its calls wait for you: `ask`, destructive or never")
	add.Flags().IntVar(&uid, "uid", 0, "also let the user with this `ID`, as this machine counts, connect: for a program that runs in the container as neither root nor you")
	show := &cobra.Command{
		Use: "show GUEST", Short: "Print again how to connect a guest", Args: terminal.ArgCount(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return terminal.Show(cmd.Context(), e, http.MethodGet, "guests/"+url.PathEscape(args[0]), nil, nil, func(g Guest) error { return printSetup(e, g) })
		},
	}
	remove := &cobra.Command{
		Use: "remove GUEST", Short: "Remove a guest, and end its calls", Args: terminal.ArgCount(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return removeGuest(cmd.Context(), e, args[0]) },
	}
	cmd.AddCommand(add, show, remove)
	root.AddCommand(cmd)
}

func removeGuest(ctx context.Context, e *terminal.Env, name string) error {
	return e.RequestChange(ctx, http.MethodDelete, "guests/"+url.PathEscape(name), nil, "Guest "+name+" removed. Its socket is closed, and its calls have ended.")
}

func printSetup(e *terminal.Env, g Guest) error {
	for _, step := range g.Setup {
		if _, err := fmt.Fprintf(e.Stdout, "%s:\n\n%s\n\n", step.Title, terminal.EscapeText(step.Text)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(e.Stdout, "The folder contains the access token: mount it in no other container. Remove the guest with: drawbridge guests remove "+g.Name)
	return err
}

// Removal is the end of one guest, or why it is still there.
type Removal struct {
	Name  string `json:"name"`
	Error string `json:"error,omitempty"`
}

// Names returns the names of the guests, with or without a daemon.
func Names(e *terminal.Env) (names []string, err error) {
	f, err := stopped(e)
	if f == nil {
		return nil, err
	}
	list, err := f.tokens()
	for _, t := range list {
		names = append(names, t.Name)
	}
	return names, err
}

// RemoveAll removes all guests with what they left: tokens, sockets and settings. The daemon does so if there
// is one, because it ends their calls.
func RemoveAll(ctx context.Context, e *terminal.Env) ([]Removal, error) {
	all := []Removal{}
	names, err := Names(e)
	if err != nil || len(names) == 0 {
		return all, err
	}
	remove := func(name string) error {
		return e.Daemon().Change(ctx, http.MethodDelete, "guests/"+url.PathEscape(name), nil)
	}
	if !e.DaemonRuns() {
		f, err := stopped(e)
		if err == nil {
			err = f.Config.(*config.Reloader).Load() // it has the settings of the guests
		}
		if err != nil {
			return all, err
		}
		remove = func(name string) error { return f.remove(ctx, name) }
		defer os.Remove(f.Folder) // if it is empty
	}
	for _, name := range names {
		one := Removal{Name: name}
		if err := remove(name); err != nil {
			one.Error, _ = core.Describe(err)
		}
		all = append(all, one)
	}
	return all, nil
}

// stopped returns the guests without their sockets; nil if there never was a daemon.
func stopped(e *terminal.Env) (*Feature, error) {
	folders, err := e.Folders()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(folders.Data); err != nil {
		return nil, nil
	}
	tokens, err := loopback.NewTokens(folders.Data, nil)
	files := config.NewReloader(config.ReloaderOptions{Sources: e.Sources(folders), Bus: new(core.Bus), Log: slog.New(slog.DiscardHandler)})
	return &Feature{Folder: filepath.Join(folders.Data, "guests"), Config: files, Tokens: tokens, End: func(string) {}, Log: slog.New(slog.DiscardHandler)}, err
}
