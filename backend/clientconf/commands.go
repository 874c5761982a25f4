package clientconf

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/backend/web"

	"github.com/spf13/cobra"
)

// Commands adds the commands about the clients on this machine and their tokens.
func Commands(e *terminal.Env, root *cobra.Command) {
	root.AddCommand(clients(e), token(e), export(e))
}

func clients(e *terminal.Env) *cobra.Command {
	var all, withFeatures bool
	var client, server string
	cmd := &cobra.Command{
		Use: "clients [CLIENT]", Short: "Connect AI clients, move their servers to Drawbridge, and undo both", Args: terminal.ArgCount(0, 1),
		Long: "List the AI clients on this machine, or show one: its file, and which MCP features work between it and the servers. The commands connect clients and move their servers to Drawbridge; each change can be undone.",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 1:
				return showClient(cmd.Context(), e, args[0], server)
			case withFeatures || server != "":
				return showFeatures(cmd.Context(), e, client, server)
			}
			return listClients(cmd.Context(), e, all || e.JSON && !cmd.Flags().Changed("all"))
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "include clients that are not installed")
	cmd.Flags().BoolVar(&withFeatures, "features", false, "show which MCP features work between each connected client and server")
	cmd.Flags().StringVar(&server, "server", "", "show only the features between clients and this `SERVER`")
	cmd.Flags().StringVar(&client, "client", "", "with --features: only this `CLIENT`, by the name of its access token or application")
	cmd.AddCommand(clientsConnect(e), clientsDisconnect(e), clientsUndo(e), clientsImport(e), clientsMove(e))
	return cmd
}

// Open returns the connector for the files of the user.
func Open(e *terminal.Env) (*Connector, error) {
	folders, err := e.Folders()
	if err != nil {
		return nil, err
	}
	c, err := NewDefault(folders.Data, folders.CustomData, e.Sources(folders).Main(), secret.For(folders.Data, e.Getenv), e.Getenv)
	if err == nil {
		c.Sync = e.SyncConfig
	}
	return c, err
}

func listClients(ctx context.Context, e *terminal.Env, all bool) error {
	c, err := Open(e)
	if err != nil {
		return err
	}
	list := []Connection{}
	left := 0
	for _, s := range c.List() {
		if all || s.Detected || s.Connected {
			list = append(list, NewConnection(s))
		} else {
			left++
		}
	}
	if e.JSON {
		addActivity(ctx, e, list)
	}
	t := terminal.Table{
		Title: "Clients", Head: []string{"ID", "Client", "State", "File"}, Keep: []bool{0: true, 2: true}, Wrap: true,
		Empty: "None of the " + core.Plural(left, "client") + " that Drawbridge supports is installed. List them with: drawbridge clients --all",
	}
	err = terminal.PrintList(e, list, t, func(c Connection) []string {
		return []string{c.Key, c.Name, describeConnection(c), e.ShortPath(c.Path)}
	})
	if err != nil || e.JSON {
		return err
	}
	for _, c := range list {
		if c.Problem != "" {
			fmt.Fprintln(e.Stdout, terminal.EscapeLine(c.Key+": "+c.Problem))
		}
	}
	for _, s := range c.Sources() {
		line := fmt.Sprintf("Found %s (%s): %s. Copy the servers with: drawbridge clients import %s", s.Name, e.ShortPath(s.Path), core.Shorten(strings.Join(s.Servers, ", "), 300), s.Key)
		if s.Problem != "" {
			line = fmt.Sprintf("Found %s (%s): %s", s.Name, e.ShortPath(s.Path), s.Problem)
		}
		fmt.Fprintln(e.Stdout, terminal.EscapeLine(line))
	}
	if left == 0 || len(list) == 0 {
		return nil
	}
	_, err = fmt.Fprintf(e.Stdout, "Not installed: %s supported by Drawbridge. List them with: drawbridge clients --all\n", core.Plural(left, "more client"))
	return err
}

func describeConnection(c Connection) string {
	switch {
	case c.State == string(Connected):
		return "connected"
	case c.State == string(Unreadable):
		return "unreadable file"
	case c.Problem != "":
		return "entry " + strings.Replace(c.State, string(Vanished), "removed", 1)
	case c.Detected:
		return "not connected"
	}
	return "not installed"
}

// addActivity adds what only a running daemon knows: the sessions and the tools of each client.
func addActivity(ctx context.Context, e *terminal.Env, list []Connection) {
	known, err := terminal.Get[web.List[Connection]](ctx, e.Daemon(), "connections", nil)
	if err != nil {
		return
	}
	for _, one := range known.Items {
		at := slices.IndexFunc(list, func(c Connection) bool { return c.Key == one.Key && c.Path == one.Path })
		if at >= 0 {
			list[at] = one
		}
	}
}

// confirmLinks asks again for each file outside the home folder, to which a link in it leads.
func confirmLinks(e *terminal.Env, yes bool, plans ...*Plan) error {
	for _, plan := range plans {
		if target := plan.Outside(); target != "" {
			if err := e.Confirm(yes, terminal.EscapeLine("Write "+target+", outside your home folder?")); err != nil {
				return err
			}
		}
	}
	return nil
}

type connectFlags struct {
	yes, http, byVariable, snippet, force bool
	project, server, file                 string
}

func (f *connectFlags) yesFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask for confirmation")
}

func (f *connectFlags) forceFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.force, "force", false, "replace or remove the entry even if it was changed manually; restore the original if the file is broken or absent")
}

type clientCommandRun struct {
	ctx    context.Context
	c      *Connector
	choice Choice
	key    string   // of the connection
	rest   []string // the arguments after the client
}

// clientCommand returns a command whose first argument is a client.
func clientCommand(e *terminal.Env, f *connectFlags, use, short string, most int, run func(clientCommandRun) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: terminal.ArgCount(1, most),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := Open(e)
			if err != nil {
				return err
			}
			client, err := FindSource(args[0])
			if err != nil {
				return err
			}
			choice, err := connectOptions(e, client.ID, *f)
			if err != nil {
				return err
			}
			return run(clientCommandRun{cmd.Context(), c, choice, Key(choice.Client, choice.Project), args[1:]})
		},
	}
	cmd.Flags().StringVar(&f.project, "project", "", "use the project file in this `FOLDER`")
	return cmd
}

// connectOptions converts the flags for the connector. HTTP requires the address of the daemon.
func connectOptions(e *terminal.Env, client string, f connectFlags) (choice Choice, err error) {
	choice = Choice{Client: client, HTTP: f.http, ByVariable: f.byVariable}
	if f.project != "" {
		if choice.Project, err = filepath.Abs(f.project); err != nil {
			return choice, err
		}
	}
	if f.file != "" {
		if choice.File, err = sourceFile(client, f.file); err != nil {
			return choice, err
		}
	}
	if f.server != "" {
		choice.Servers = []ServerEntry{{Name: f.server, Server: f.server}}
	}
	if !f.http {
		return choice, nil
	}
	folders, err := e.Folders()
	if err != nil {
		return choice, err
	}
	rt, running, err := loopback.FindDaemon(folders.Data)
	if err != nil || !running {
		return choice, &core.Error{Code: core.CodeUnavailable, Message: "--http requires Drawbridge to be running",
			Hint: "Start it with: drawbridge. Without --http, the shim starts it when needed.", Cause: err}
	}
	choice.URL = rt.URL
	tokens, err := loopback.NewTokens(folders.Data, nil)
	if err == nil && f.snippet {
		choice.Token, err = TokenOf(e)(client)
	} else if err == nil {
		choice.Token, err = previewTokenOf(tokens, client)
	}
	return choice, err
}

// previewToken stands for the token of a client that has none yet, until the user has agreed to connect it.
const previewToken = loopback.TokenPrefix + "0000000000000000000000000000000000000000000"

// previewTokenOf returns the token of a client if it has one, otherwise previewToken.
func previewTokenOf(tokens *loopback.Tokens, client string) (string, error) {
	if _, known, err := tokens.Get(client); err != nil || !known {
		return previewToken, err
	}
	t, err := tokens.CreateForEntry(client) // refuses the token of a guest
	return t.Token, err
}

// TokenOf returns the token of a client and creates it if there is none.
func TokenOf(e *terminal.Env) func(client string) (string, error) {
	return func(client string) (string, error) {
		folders, err := e.Folders()
		if err != nil {
			return "", err
		}
		tokens, err := loopback.NewTokens(folders.Data, nil)
		if err != nil {
			return "", err
		}
		t, err := tokens.CreateForEntry(client)
		return t.Token, err
	}
}

func clientsConnect(e *terminal.Env) *cobra.Command {
	var f connectFlags
	var dryRun, restore, bundle bool
	var out string
	cmd := clientCommand(e, &f, "connect CLIENT", "Add the Drawbridge entry to a client's configuration file", 1, func(r clientCommandRun) error {
		switch {
		case f.snippet:
			return printManualSetup(e, r)
		case bundle:
			return writeBundle(e, r, out)
		case restore:
			whole, err := r.c.Restore(r.ctx, r.key, TokenOf(e))
			if err != nil {
				return err
			}
			return e.PrintSentence(map[string]any{"key": r.key, "whole": whole}, "The entry was restored.")
		}
		plan, err := r.c.Plan(r.choice)
		switch {
		case err != nil:
			return err
		case dryRun && plan.Action == Equal:
			return e.PrintSentence(NewConnectionPlan(plan), "Nothing would change.")
		case dryRun:
			return e.PrintSentence(NewConnectionPlan(plan), strings.TrimSuffix(terminal.EscapeText(plan.Diff), "\n"))
		}
		return applyPlan(e, r, plan, f.yes)
	})
	f.yesFlag(cmd)
	cmd.Flags().BoolVar(&f.http, "http", false, "write a URL instead of a command; Drawbridge must then be running before the client starts")
	cmd.Flags().BoolVar(&f.byVariable, "token-by-variable", false, "with --http: refer to "+TokenVar+" instead of writing the access token")
	cmd.Flags().StringVar(&f.server, "server", "", "connect only this `SERVER`, under its own name")
	cmd.Flags().BoolVar(&f.snippet, "snippet", false, "print a snippet to paste, and write nothing")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would change, and write nothing")
	cmd.Flags().BoolVar(&restore, "restore", false, "restore the entry as it was, after the client removed it")
	cmd.Flags().BoolVar(&bundle, "bundle", false, "write an extension that connects the client without changing its file")
	cmd.Flags().StringVarP(&out, "output", "o", BundleName, "with --bundle: the `FILE` to write")
	addAllFlag(e, cmd, &f.yes, "all installed clients that are not connected", (*Connector).PlanConnectAll, "Connect %s?")
	cmd.MarkFlagsMutuallyExclusive("snippet", "dry-run", "restore", "bundle", "all")
	return cmd
}

func printManualSetup(e *terminal.Env, r clientCommandRun) error {
	h, err := r.c.ManualSetup(r.choice)
	if err != nil {
		return err
	}
	if e.JSON {
		return e.PrintJSON(map[string]any{"id": r.choice.Client, "snippet": h.Text, "link": h.Link, "bundle": h.Bundle, "path": h.Path, "steps": h.Steps})
	}
	fmt.Fprintln(e.Stdout, terminal.EscapeText(h.Text))
	if h.Link != "" {
		fmt.Fprintln(e.Stderr, h.Link)
	}
	for _, step := range h.Steps {
		fmt.Fprintln(e.Stderr, terminal.EscapeLine(step))
	}
	return nil
}

// applyPlan shows a plan, asks for confirmation, and applies it.
func applyPlan(e *terminal.Env, r clientCommandRun, plan *Plan, yes bool) error {
	if plan.Action != Equal {
		if !e.JSON {
			fmt.Fprintf(e.Stdout, "%s\n%s\n", terminal.EscapeLine(plan.Path), terminal.EscapeText(plan.Diff))
			for _, w := range slices.Concat(plan.Warnings, plan.Notes) {
				fmt.Fprintln(e.Stdout, "Note:", terminal.EscapeLine(w))
			}
		}
		question := "Write this?"
		if len(plan.Unmoved) > 0 {
			question = terminal.EscapeLine("Write this, and undo the move of " + strings.Join(plan.Unmoved, ", ") + "?")
		}
		if err := e.Confirm(yes, question); err != nil {
			return err
		}
		if err := confirmLinks(e, yes, plan); err != nil {
			return err
		}
		// The token is created first, because the client may start the shim immediately.
		token, err := TokenOf(e)(plan.Client.ID)
		if err != nil {
			return err
		}
		if r.choice.Token = token; r.choice.HTTP { // now with the token
			shown := plan.before
			if plan, err = r.c.Plan(r.choice); err == nil && !bytes.Equal(plan.before, shown) {
				err = changedError()
			}
			if err != nil {
				return err
			}
		}
	}
	if err := r.c.Apply(r.ctx, plan); err != nil {
		return err
	}
	sentence := plan.Client.Name + " is connected" + describeSame(plan.Same) + "."
	if hint := plan.Client.ApplyHint(); hint != "" && plan.Action != Equal {
		sentence += " " + hint
	}
	return errors.Join(e.PrintSentence(NewConnectionPlan(plan), sentence), skippedError(&Batch{Plans: []*Plan{plan}}))
}

var undoneWords = map[UndoOutcome]string{
	Restored:  "The file was restored byte for byte.",
	Removed:   "The Drawbridge entry was removed; other changes since then were kept.",
	WasAbsent: "There was no Drawbridge entry to remove.",
}

var undoneImportWords = map[UndoOutcome]string{
	Restored:  "The configuration of Drawbridge was restored byte for byte.",
	Removed:   "The imported servers were removed; other changes since then were kept.",
	WasAbsent: "The imported servers had already been removed.",
}

func clientsDisconnect(e *terminal.Env) *cobra.Command {
	var f connectFlags
	var all bool
	one := clientCommand(e, &f, "disconnect [CLIENT]", "Remove the Drawbridge entry from a client's configuration file", 1, func(r clientCommandRun) error {
		return undoClient(e, r, f.force)
	})
	named := one.RunE
	one.Args = terminal.ArgCount(0, 1)
	one.RunE = func(cmd *cobra.Command, args []string) error {
		if all != (len(args) == 0) {
			return terminal.UsageError(errors.New("specify a client, or use --all"))
		}
		if all {
			return DisconnectAll(cmd.Context(), e, f.force, nil)
		}
		return named(cmd, args)
	}
	f.yesFlag(one)
	f.forceFlag(one)
	one.Flags().BoolVar(&all, "all", false, "all connected clients")
	return one
}

func clientsUndo(e *terminal.Env) *cobra.Command {
	var f connectFlags
	var imported string
	var all, list, forget bool
	cmd := clientCommand(e, &f, "undo CLIENT [SERVER...]", "Undo a connection, move or import", 1000, func(r clientCommandRun) error {
		if forget {
			if err := r.c.Forget(r.key); err != nil {
				return err
			}
			return e.PrintSentence(map[string]any{"key": r.key, "forgotten": true}, "Drawbridge no longer reports the missing entry.")
		}
		if len(r.rest) == 0 {
			return undoClient(e, r, f.force)
		}
		status, _ := r.c.Status(r.key)
		plan, err := r.c.PlanUndo(r.key)
		if err != nil {
			return err
		}
		how, err := r.c.UndoServers(r.ctx, r.key, r.rest, f.force)
		if err != nil {
			return err
		}
		shared := slices.DeleteFunc(plan.Shared, func(s SharedServer) bool {
			return !slices.ContainsFunc(status.Choice.Servers, func(m ServerEntry) bool { return m.Server == core.Slug(s.Name) && slices.Contains(r.rest, m.Name) })
		})
		return e.PrintSentence(map[string]any{"id": r.choice.Client, "key": r.key, "undone": how, "servers": r.rest, "shared": shared}, terminal.EscapeLine("Restored: the client starts its own servers again."+describeShared(shared)))
	})
	cmd.Long = "Undo a connection, move or import. With SERVER, only the moves of these servers are undone.\nIf a client is not connected, its newest import is undone."
	client := cmd.RunE
	cmd.Args = terminal.ArgCount(0, 1000)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		named := 0
		for _, given := range []bool{all, list, imported != "", len(args) > 0} {
			if given {
				named++
			}
		}
		if named != 1 {
			return terminal.UsageError(errors.New("specify a client, or an import with --import, or use --all or --list"))
		}
		switch {
		case all:
			return undoAll(cmd.Context(), e, f.yes, f.force)
		case list:
			return listImports(e)
		case imported == "":
			return client(cmd, args)
		}
		c, err := Open(e)
		if err != nil {
			return err
		}
		return undoImport(cmd.Context(), e, c, imported)
	}
	f.yesFlag(cmd)
	f.forceFlag(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "undo all connections, moves and imports, the newest first")
	cmd.Flags().StringVar(&imported, "import", "", "undo the import with this `ID` (see --list)")
	cmd.Flags().BoolVar(&list, "list", false, "list the imports that can be undone")
	cmd.Flags().BoolVar(&forget, "forget", false, "change no file: only stop reporting an entry that you removed yourself")
	return cmd
}

func undoClient(e *terminal.Env, r clientCommandRun, force bool) error {
	if _, connected := r.c.Status(r.key); !connected {
		all, err := r.c.Imports()
		if err != nil {
			return err
		}
		if at := slices.IndexFunc(all, func(t ImportRecord) bool { return t.Client == r.choice.Client }); at >= 0 {
			return undoImport(r.ctx, e, r.c, all[at].ID)
		}
		if _, isSource := findSource(r.choice.Client); isSource {
			return core.Errorf(core.CodeNotFound, "nothing was imported from %q", r.choice.Client)
		}
	}
	plan, err := r.c.PlanUndo(r.key)
	if err != nil {
		return err
	}
	how, err := r.c.Undo(r.ctx, r.key, UndoOptions{Force: force})
	if err != nil {
		return err
	}
	return e.PrintSentence(map[string]any{"id": r.choice.Client, "key": r.key, "undone": how, "shared": plan.Shared}, terminal.EscapeLine(undoneWords[how]+describeShared(plan.Shared)))
}

func undoImport(ctx context.Context, e *terminal.Env, c *Connector, id string) error {
	how, err := c.UndoImport(ctx, id)
	if err != nil {
		return err
	}
	return e.PrintSentence(map[string]any{"import": id, "undone": how}, undoneImportWords[how])
}

// DisconnectAll removes every connection; a failure does not stop the others. also has more members for the
// document that --json prints.
func DisconnectAll(ctx context.Context, e *terminal.Env, force bool, also map[string]any) error {
	c, err := Open(e)
	if err != nil {
		return err
	}
	return undoEach(ctx, e, c, false, force, also)
}

func showFeatures(ctx context.Context, e *terminal.Env, client, server string) error {
	query := url.Values{}
	for key, value := range map[string]string{"client": client, "server": server} {
		if value != "" {
			query.Set(key, value)
		}
	}
	return terminal.Show(ctx, e, http.MethodGet, "features", query, nil, func(list web.List[ClientFeatures]) error { return printFeatures(e, list) })
}

// showClient shows the connections of a client and, if Drawbridge is running, its features.
func showClient(ctx context.Context, e *terminal.Env, name, server string) error {
	client, err := Find(name)
	if err != nil {
		return err
	}
	c, err := Open(e)
	if err != nil {
		return err
	}
	list := []Connection{}
	for _, s := range c.List() {
		if s.Client.ID == client.ID {
			list = append(list, NewConnection(s))
		}
	}
	if addActivity(ctx, e, list); e.JSON {
		return e.PrintJSON(web.List[Connection]{Items: list})
	}
	for _, one := range list {
		fmt.Fprintf(e.Stdout, "%s: %s\n  %s\n", terminal.EscapeLine(one.Name), describeConnection(one), terminal.EscapeLine(one.Path))
		if one.Problem != "" {
			fmt.Fprintf(e.Stdout, "  %s\n", terminal.EscapeLine(one.Problem))
		}
		if one.ToolMode != "" {
			fmt.Fprintf(e.Stdout, "  Tool mode: %s\n", terminal.EscapeLine(strings.TrimSuffix(one.ToolMode+", chosen by Drawbridge: "+one.ModeReason, ", chosen by Drawbridge: ")))
		}
		for _, w := range one.Warnings {
			fmt.Fprintf(e.Stdout, "  %s\n", terminal.EscapeLine(w))
		}
	}
	if !e.DaemonRuns() || !slices.ContainsFunc(list, func(c Connection) bool { return c.State == string(Connected) }) {
		return nil
	}
	return showFeatures(ctx, e, client.ID, server)
}

func printFeatures(e *terminal.Env, list web.List[ClientFeatures]) error {
	t := terminal.Table{Title: "Features", Head: []string{"Client", "Era", "Server", "What is not available, or asks first"}, Wrap: true}
	for _, c := range list.Items {
		for _, s := range c.Servers {
			var parts []string
			for _, how := range [][2]string{{"not client", "not supported by the client: "}, {"not server", "not offered by the server: "}, {"with approval", "with your approval: "}} {
				var names []string
				for _, f := range s.Features {
					if f.How == how[0] {
						names = append(names, f.Name)
					}
				}
				if len(names) > 0 {
					parts = append(parts, how[1]+strings.Join(names, ", "))
				}
			}
			text := cmp.Or(strings.Join(parts, "; "), "-")
			if !s.Known {
				text = "not known yet"
			}
			t.Add(cmp.Or(c.Name, c.Token), string(c.Era), s.Server, text)
		}
	}
	return e.PrintTable(&t)
}
