package clientconf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// addAllFlag adds a flag that makes a command plan for all clients and ask once.
func addAllFlag(e *terminal.Env, cmd *cobra.Command, yes *bool, about string, plan func(*Connector) *Batch, question string) {
	var all, diff bool
	one, most := cmd.RunE, cmd.Args
	cmd.Use = strings.Replace(cmd.Use, " CLIENT", " CLIENT|--all", 1)
	cmd.Flags().BoolVar(&all, "all", false, about+", with one confirmation")
	cmd.Flags().BoolVar(&diff, "diff", false, "with --all: also show the changes to each file")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case all && len(args) == 0:
			return nil
		case all || len(args) == 0:
			return terminal.UsageError(errors.New("specify a client, or use --all"))
		}
		return most(cmd, args)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !all {
			return one(cmd, args)
		}
		var other error
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Changed && !slices.Contains([]string{"all", "yes", "diff"}, f.Name) {
				other = terminal.UsageError(errors.New("--all can only be combined with --yes and --diff"))
			}
		})
		c, err := Open(e)
		if err = cmp.Or(other, err); err != nil {
			return err
		}
		t := plan(c)
		return applyToAll(cmd.Context(), e, t, *yes, diff, fmt.Sprintf(question, describeCount(t)))
	}
}

// applyToAll shows one plan for all clients, asks once, and applies it.
func applyToAll(ctx context.Context, e *terminal.Env, t *Batch, yes, diff bool, question string) error {
	if !e.JSON {
		if err := printPlans(e, t, diff); err != nil {
			return err
		}
	}
	skipped := append([]SkippedClient{}, t.Skipped...) // never null
	if t.ClientCount() == 0 {
		return errors.Join(e.PrintSentence(map[string]any{"items": []any{}, "skipped": skipped, "next": ""}, "There is nothing to do. To see the clients and their servers: drawbridge clients"), skippedError(t))
	}
	if err := e.Confirm(yes, question); err != nil {
		return err
	}
	if err := confirmLinks(e, yes, t.Plans...); err != nil {
		return err
	}
	token := func(client string) error { // the client may start the shim immediately
		_, err := TokenOf(e)(client)
		return err
	}
	var done results
	failed := errors.Join(t.Apply(ctx, token, func(d ClientResult) { done = append(done, d) }), skippedError(t))
	if e.JSON {
		return errors.Join(e.PrintJSON(map[string]any{"items": done.documents(t), "skipped": skipped, "next": ""}), failed)
	}
	fmt.Fprintln(e.Stdout, terminal.EscapeText(done.sentences(t)))
	return failed
}

// skippedError returns an error if the batch leaves out a client or a server.
func skippedError(t *Batch) error {
	var names []string
	for _, s := range t.Skipped {
		names = append(names, s.Client)
	}
	for _, p := range t.Plans {
		for _, s := range p.Skipped {
			names = append(names, s.Name+" ("+p.Client.Name+")")
		}
	}
	for _, i := range t.Imports {
		for _, s := range i.Skipped {
			names = append(names, s.Name+" ("+i.Client.Name+")")
		}
	}
	if len(names) == 0 {
		return nil
	}
	return &core.Error{Code: core.CodeValidation, Message: "skipped " + strings.Join(names, ", "), Hint: "The reasons are above. Correct these entries and try again; everything else was processed."}
}

type results []ClientResult

// clientOutcome is the part that the documents of all clients have.
type clientOutcome struct {
	Client string `json:"client"`
	Error  string `json:"error,omitempty"`
}

// clientPlanResult is the document of a connected or moved client.
type clientPlanResult struct {
	ConnectionPlan
	clientOutcome
}

// clientImportResult is the document of a client whose servers were copied.
type clientImportResult struct {
	Items   []ImportedServer `json:"items"`
	Skipped []SkippedServer  `json:"skipped"`
	Path    string           `json:"path"`
	clientOutcome
}

func (all results) documents(t *Batch) []any {
	docs := []any{}
	for n, d := range all {
		outcome := clientOutcome{d.Client.ID, d.Reason()}
		if n < len(t.Plans) {
			docs = append(docs, clientPlanResult{NewConnectionPlan(t.Plans[n]), outcome})
			continue
		}
		i := t.Imports[n-len(t.Plans)]
		docs = append(docs, clientImportResult{i.Servers, append([]SkippedServer{}, i.Skipped...), i.Path, outcome})
	}
	return docs
}

// sentences describes the result and how each client picks it up.
func (all results) sentences(t *Batch) string {
	servers, clients, lines, same := 0, 0, []string{}, []string{}
	for n, d := range all {
		if d.Err != nil {
			lines = append(lines, terminal.EscapeLine("  Not changed: "+d.Client.Name+": "+strings.TrimSuffix(d.Reason(), ".")+"."))
			continue
		}
		servers, clients = servers+d.Servers, clients+1
		if n < len(t.Plans) {
			same = append(same, t.Plans[n].Same...)
		}
		if n < len(t.Plans) && d.Client.Reload != "" && !d.Client.ReloadsAutomatically() { // an import changes no file of a client
			lines = append(lines, terminal.EscapeLine("  "+d.Client.Name+": "+d.Client.ApplyHint()))
		}
	}
	first := "Nothing was changed."
	if clients > 0 {
		first = "Done: " + describeCounts(servers, clients) + describeSame(same) + ". To undo everything: drawbridge clients undo --all"
	}
	return strings.Join(append([]string{first}, lines...), "\n")
}

// describeSame says how many of the moved servers are the same as others, and which.
func describeSame(same []string) string {
	if len(same) == 0 {
		return ""
	}
	return terminal.EscapeLine(fmt.Sprintf("; Drawbridge runs %d of them only once: %s", len(same), strings.Join(same, ", ")))
}

// printPlans prints a row for each client, and with diff the changes to the files.
func printPlans(e *terminal.Env, t *Batch, diff bool) error {
	table := terminal.Table{Title: "%d clients", Head: []string{"Client", "File", "Servers"}, Wrap: true}
	for _, p := range t.Plans {
		table.Add(p.Client.Name, e.ShortPath(p.Path), cmp.Or(strings.Join(p.movedServers(), ", "), "-"))
	}
	for _, i := range t.Imports {
		var names []string
		for _, s := range i.Servers {
			names = append(names, s.Name)
		}
		table.Add(i.Client.Name, e.ShortPath(i.Path), strings.Join(names, ", "))
	}
	if t.ClientCount() > 0 {
		if err := e.PrintTable(&table); err != nil {
			return err
		}
	}
	for _, p := range t.Plans {
		if diff {
			fmt.Fprintf(e.Stdout, "\n%s\n%s\n%s", terminal.EscapeLine(p.Client.Name), terminal.EscapeLine(p.Path), terminal.EscapeText(p.Diff))
		}
		for _, w := range slices.Concat(p.Warnings, p.Notes) {
			fmt.Fprintln(e.Stdout, terminal.EscapeLine("Note: "+p.Client.Name+": "+w))
		}
	}
	for _, i := range t.Imports {
		printImports(e, i)
		if diff {
			fmt.Fprintf(e.Stdout, "%s\n", terminal.EscapeText(i.Diff))
		}
	}
	for _, s := range t.Skipped {
		fmt.Fprintln(e.Stdout, terminal.EscapeLine("Skipped "+s.Client+": "+s.Reason))
	}
	if !diff && t.ClientCount() > 0 {
		fmt.Fprintln(e.Stdout, "The changes to each file: add --diff")
	}
	return nil
}

// describeCount describes the number of items of a step.
func describeCount(t *Batch) string {
	return describeCounts(t.ServerCount(), t.ClientCount())
}

func describeCounts(servers, clients int) string {
	if servers > 0 {
		return core.Plural(servers, "server") + " from " + core.Plural(clients, "client")
	}
	return core.Plural(clients, "client")
}

// undoAll undoes everything that connect, move and import did, after one confirmation.
func undoAll(ctx context.Context, e *terminal.Env, yes, force bool) error {
	c, err := Open(e)
	if err != nil {
		return err
	}
	keys, err := c.Connections()
	if err != nil {
		return err
	}
	imports, err := c.Imports()
	if err != nil {
		return err
	}
	if len(keys)+len(imports) == 0 {
		return e.PrintSentence(map[string]any{"items": []any{}, "next": ""}, "There is nothing to undo.")
	}
	if err := e.Confirm(yes, fmt.Sprintf("Undo %s (%s) and %s?", core.Plural(len(keys), "connection"), strings.Join(keys, ", "), core.Plural(len(imports), "import"))); err != nil {
		return err
	}
	return undoEach(ctx, e, c, true, force, nil)
}

// undoEach undoes every connection and, if requested, every import; a failure does not stop the
// others.
func undoEach(ctx context.Context, e *terminal.Env, c *Connector, imports, force bool, also map[string]any) error {
	list := []UndoResult{}
	failed := c.UndoAll(ctx, imports, force, func(u UndoResult) {
		list = append(list, u)
		if e.JSON || u.Error != "" {
			return
		}
		name, words := u.Key, undoneWords[u.Undone]
		if u.Import != "" {
			name, words = "import "+u.Import, undoneImportWords[u.Undone]
		}
		fmt.Fprintf(e.Stdout, "%s: %s\n", terminal.EscapeLine(name), words)
	})
	if e.JSON {
		document := map[string]any{"items": slices.Clip(list), "next": ""}
		maps.Copy(document, also)
		return errors.Join(e.PrintJSON(document), failed)
	}
	if len(list) == 0 {
		fmt.Fprintln(e.Stdout, "No client is connected.")
	}
	return failed
}

func clientsImport(e *terminal.Env) *cobra.Command {
	var f connectFlags
	cmd := clientCommand(e, &f, "import CLIENT [SERVER...]", "Copy a client's servers to the configuration of Drawbridge", 1000, func(r clientCommandRun) error {
		t, err := r.c.PlanImport(r.choice, r.rest)
		if err != nil {
			return err
		}
		if !e.JSON {
			if r.choice.File != "" {
				fmt.Fprintln(e.Stdout, terminal.EscapeLine("From "+r.choice.File))
			}
			printImports(e, t)
			fmt.Fprintf(e.Stdout, "\n%s\n", terminal.EscapeText(t.Diff))
		}
		id := ""
		if t.Diff != "" {
			if err := e.Confirm(f.yes, "Write this?"); err != nil {
				return err
			}
			if id, err = t.Apply(r.ctx); err != nil {
				return err
			}
		}
		copied := len(slices.DeleteFunc(slices.Clone(t.Servers), func(i ImportedServer) bool { return i.Exists }))
		sentence := fmt.Sprintf("Copied %s to %s.", core.Plural(copied, "server"), terminal.EscapeLine(t.Path))
		if n := len(t.Servers) - copied; n > 0 {
			sentence += fmt.Sprintf(" %s already there.", core.Plural(n, "server"))
		}
		if len(t.Skipped) > 0 {
			sentence += fmt.Sprintf(" Skipped %s.", core.Plural(len(t.Skipped), "server"))
		}
		if id != "" {
			sentence += " Undo with: drawbridge clients undo --import " + id
		}
		document := map[string]any{"items": t.Servers, "skipped": append([]SkippedServer{}, t.Skipped...), "next": "", "path": t.Path, "id": id, "from": r.choice.File}
		return errors.Join(e.PrintSentence(document, sentence), skippedError(&Batch{Imports: []*PlannedImport{t}}))
	})
	cmd.Long = "Copy a client's servers to the configuration of Drawbridge. The client keeps its entries; to replace them, use move.\n" +
		"Variable references are copied as they are, without being expanded. Literal tokens are stored as secrets.\n" +
		"CLIENT is a client, or one of: " + strings.Join(sourceIDs(), ", ") + "."
	f.yesFlag(cmd)
	cmd.Flags().StringVar(&f.file, "file", "", "read this `FILE` or folder of a gateway or plugin, wherever it is")
	addAllFlag(e, cmd, &f.yes, "all installed clients with servers", (*Connector).PlanImportAll, "Copy %s?")
	return cmd
}

func printImports(e *terminal.Env, t *PlannedImport) {
	for _, i := range t.Servers {
		how := "becomes " + i.Label
		if i.Exists {
			how = "already exists as " + i.Label
		}
		fmt.Fprintf(e.Stdout, "%s %s: %s\n", terminal.EscapeLine(i.Name), terminal.EscapeLine(how), terminal.EscapeLine(string(i.Entry)))
		if len(i.SharedWith) > 0 {
			fmt.Fprintf(e.Stdout, "  also in: %s\n", terminal.EscapeLine(strings.Join(i.SharedWith, ", ")))
		}
		for _, note := range i.Notes {
			fmt.Fprintf(e.Stdout, "  note: %s\n", terminal.EscapeLine(note))
		}
	}
	if saves := directStarts(t.Servers); saves != "" {
		fmt.Fprintln(e.Stdout, saves)
	}
	for _, s := range t.Skipped {
		fmt.Fprintf(e.Stdout, "%s is skipped: %s\n", terminal.EscapeLine(s.Name), terminal.EscapeLine(s.Reason))
	}
}

func listImports(e *terminal.Env) error {
	c, err := Open(e)
	if err != nil {
		return err
	}
	all, err := c.Imports()
	if err != nil {
		return err
	}
	list := []CompletedImport{}
	for _, i := range all {
		list = append(list, i.CompletedImport)
	}
	t := terminal.Table{Title: "Imports", Head: []string{"ID", "Client", "Servers"}, Keep: []bool{true}, Wrap: true}
	return terminal.PrintList(e, list, t, func(i CompletedImport) []string {
		return []string{i.ID, i.Client, strings.Join(i.Servers, ", ")}
	})
}

func clientsMove(e *terminal.Env) *cobra.Command {
	var f connectFlags
	var singleEntry bool
	cmd := clientCommand(e, &f, "move CLIENT [SERVER...]", "Move a client's servers to Drawbridge and connect the client", 1000, func(r clientCommandRun) error {
		plan, err := r.c.PlanMove(r.choice, r.rest, singleEntry)
		if err != nil {
			return err
		}
		return applyPlan(e, r, plan, f.yes)
	})
	cmd.Long = "Move a client's servers to Drawbridge and replace each entry with one that has the same name, so that\npermission rules keep working. With SERVER, only these servers are moved.\n\"drawbridge clients undo CLIENT [SERVER...]\" reverts all moves, or only those of the named servers."
	f.yesFlag(cmd)
	cmd.Flags().BoolVar(&singleEntry, "single-entry", false, "one entry for all servers; tool names change")
	addAllFlag(e, cmd, &f.yes, "all installed clients with servers", func(c *Connector) *Batch { return c.PlanMoveAll() }, "Move %s to Drawbridge?")
	return cmd
}

func writeBundle(e *terminal.Env, r clientCommandRun, out string) error {
	content, err := r.c.Bundle(r.choice.Client, e.Version)
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, content, 0o644); err != nil { //nolint:gosec // it holds no secret
		return err
	}
	return e.PrintSentence(map[string]any{"id": r.choice.Client, "path": out}, terminal.EscapeLine(out)+" was written. Open it with the client to install it.")
}
