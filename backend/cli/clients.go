package cli

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"drawbridge/backend/clientconf"
	"drawbridge/backend/hub"
)

// clientRow is one client in the JSON of clients list.
type clientRow struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Kind       string `json:"kind"`
	Confidence string `json:"confidence"`
	Path       string `json:"path"`
	Detected   bool   `json:"detected"`
	Connected  bool   `json:"connected"`
	Problem    string `json:"problem,omitempty"`
}

func (c *commands) clientsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "clients", Short: "Connect AI clients, and disconnect them without a trace"}
	var all, yes, force bool
	list := &cobra.Command{
		Use: "list", Short: "List clients: what is installed, what is connected", Args: usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return c.listClients(all) },
	}
	list.Flags().BoolVar(&all, "all", false, "also those that do not seem to be installed")
	connect := &cobra.Command{
		Use: "connect CLIENT", Short: "Add Drawbridge to a client's configuration, after showing the change",
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return c.connectClient(cmd, args[0], yes) },
	}
	connect.Flags().BoolVar(&yes, "yes", false, "do not ask")
	disconnect := &cobra.Command{
		Use: "disconnect CLIENT", Short: "Take our entry out again; an untouched file becomes byte for byte what it was",
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return c.disconnectClient(cmd, args[0], force) },
	}
	disconnect.Flags().BoolVar(&force, "force", false, "also an entry that was changed by hand")
	cmd.AddCommand(list, connect, disconnect)
	return cmd
}

func (c *commands) connector() (*clientconf.Connector, error) {
	folders, err := c.folders()
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	return clientconf.New(clientconf.Options{
		System:  clientconf.System{GOOS: runtime.GOOS, Home: home, Getenv: c.Getenv},
		Dir:     filepath.Join(folders.Data, "clients"),
		Program: program, Data: dataArgument(folders),
	})
}

func (c *commands) listClients(all bool) error {
	connector, err := c.connector()
	if err != nil {
		return err
	}
	rows := []clientRow{}
	t := table{title: "Clients", head: []string{"Client", "Name", "State", "File"}}
	for _, s := range connector.List() {
		if !all && !s.Detected && !s.Connected && s.Problem == "" {
			continue
		}
		rows = append(rows, clientRow{s.Client.ID, s.Client.Name, s.Client.Kind, s.Client.Confidence, s.Path, s.Detected, s.Connected, s.Problem})
		state := "not installed"
		switch {
		case s.Connected:
			state = "connected"
		case s.Problem != "":
			state = s.Problem
		case s.Detected:
			state = "not connected"
		}
		t.rows = append(t.rows, []string{s.Client.ID, s.Client.Name, state, s.Path})
	}
	if c.json {
		return c.printJSON(map[string]any{"items": rows, "next": ""})
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(c.Stdout, "No client was found. See all that are known with: drawbridge clients list --all")
		return err
	}
	_, err = fmt.Fprint(c.Stdout, t.String(c.Terminal))
	return err
}

func (c *commands) connectClient(cmd *cobra.Command, id string, yes bool) error {
	connector, err := c.connector()
	if err != nil {
		return err
	}
	plan, err := connector.Plan(id)
	if err != nil {
		return err
	}
	if !c.json && plan.Action != clientconf.Equal {
		fmt.Fprint(c.Stdout, plan.Diff)
	}
	if !yes && plan.Action != clientconf.Equal {
		if ok, err := c.confirm("Write this to " + plan.Path + "?"); err != nil || !ok {
			return err
		}
	}
	tokens, err := c.tokens()
	if err != nil {
		return err
	}
	if _, err := tokens.Create(id); err != nil {
		return err
	}
	if err := connector.Apply(cmd.Context(), plan); err != nil {
		return err
	}
	if c.json {
		return c.printJSON(map[string]any{"client": id, "path": plan.Path, "action": plan.Action, "diff": plan.Diff})
	}
	if plan.Action == clientconf.Equal {
		fmt.Fprintln(c.Stdout, plan.Client.Name+" is connected already.")
	} else {
		fmt.Fprintln(c.Stdout, plan.Client.Name+" is connected. Take it back with: drawbridge clients disconnect "+id)
	}
	if plan.Client.Reload != "" {
		fmt.Fprintln(c.Stdout, "For "+plan.Client.Name+" to notice: "+plan.Client.Reload+".")
	}
	if plan.Client.Rewrites {
		fmt.Fprintln(c.Stdout, "It writes its file while it runs: if it is open now, close it, connect again, and start it.")
	}
	return nil
}

func (c *commands) disconnectClient(cmd *cobra.Command, id string, force bool) error {
	connector, err := c.connector()
	if err != nil {
		return err
	}
	done, err := connector.Undo(cmd.Context(), id, force)
	if err != nil {
		return err
	}
	if c.json {
		return c.printJSON(map[string]any{"client": id, "result": done})
	}
	text := map[clientconf.Undone]string{
		clientconf.Restored:  "The file is byte for byte what it was before.",
		clientconf.Removed:   "Our entry is gone; what others changed since stays.",
		clientconf.WasAbsent: "Our entry was not there.",
	}[done]
	_, err = fmt.Fprintln(c.Stdout, text)
	return err
}

// confirm asks on the terminal. Without one the answer is an error that says how to go on.
func (c *commands) confirm(question string) (bool, error) {
	if !c.Terminal || c.json {
		return false, &hub.Error{Code: hub.CodeRejected, Message: "nobody is here to confirm the change", Hint: "Add --yes to make it."}
	}
	fmt.Fprint(c.Stdout, question+" [y/N] ")
	answer, _ := bufio.NewReader(c.Stdin).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	}
	_, err := fmt.Fprintln(c.Stdout, "Nothing was changed.")
	return false, err
}
