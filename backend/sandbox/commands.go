package sandbox

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/terminal"

	"github.com/spf13/cobra"
)

// Commands adds the commands about sandboxes.
func Commands(e *terminal.Env, root *cobra.Command) {
	root.AddCommand(sandboxCommand(e))
}

func sandboxCommand(e *terminal.Env) *cobra.Command {
	var off, on bool
	cmd := &cobra.Command{
		Use: "sandbox SERVER", Short: "Show or change a server's sandbox", Args: terminal.ArgCount(1, 1),
		Long: "Show a server's sandbox, and the restrictions that this system can enforce; the flags and the subcommand change the sandbox.",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case off:
				return showSandbox(e, cmd, http.MethodPost, args[0], map[string]string{"mode": "off"})
			case on:
				return showSandbox(e, cmd, http.MethodPost, args[0], map[string]string{"mode": "on"})
			}
			return showSandbox(e, cmd, http.MethodGet, args[0], nil)
		},
	}
	cmd.Flags().BoolVar(&off, "off", false, "turn the sandbox off; its settings are kept")
	cmd.Flags().BoolVar(&on, "on", false, "turn on the sandbox with the default rules and the settings in the configuration")
	cmd.MarkFlagsMutuallyExclusive("off", "on")
	var write bool
	allow := &cobra.Command{
		Use: "allow SERVER PATH", Short: "Allow a server to read another file or folder, or to write to it", Args: terminal.ArgCount(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, mode := args[1], "read"
			if write {
				mode = "write"
			}
			if path != "~" && !strings.HasPrefix(path, "~/") {
				var err error
				if path, err = filepath.Abs(path); err != nil {
					return fmt.Errorf("cannot find the current folder: %w", err)
				}
			}
			return showSandbox(e, cmd, http.MethodPost, args[0], map[string]string{"mode": mode, "path": path})
		},
	}
	allow.Flags().BoolVar(&write, "write", false, "also allow writing")
	cmd.AddCommand(allow)
	return cmd
}

func showSandbox(e *terminal.Env, cmd *cobra.Command, method, server string, body any) error {
	return terminal.Show(cmd.Context(), e, method, terminal.ServerPath(server, "/sandbox"), nil, body, func(st SandboxStatus) error {
		return printSandbox(e, st, method == http.MethodGet)
	})
}

func printSandbox(e *terminal.Env, st SandboxStatus, withSystem bool) error {
	say := func(format string, args ...any) {
		fmt.Fprintln(e.Stdout, terminal.EscapeLine(fmt.Sprintf(format, args...)))
	}
	say("%s: sandbox %s", st.Server, st.Mode)
	if st.Reason != "" {
		say("%s", st.Reason)
	}
	if !st.Applies {
		return nil
	}
	switch confines := len(st.Protections) > 0 && st.Protections[0].Enforced; {
	case st.Mode == "on" && !confines:
		say("  no restrictions are enforced on this system")
	case st.Mode == "on":
		if !st.Enough {
			say("  with the restrictions that this system can enforce:")
		}
		printPaths(say, st.Read, st.Write, st.Network, st.Ports)
		if st.UnixSockets == "none" {
			say("  no Unix sockets")
		} else {
			say("  any Unix sockets, through which the server may escape the sandbox: set \"unixSockets\": \"none\" unless it needs them")
		}
	}
	if st.Access != nil {
		say("In force since the server was last started:")
		printSome(say, "may write", st.Access.Write)
		printSome(say, "cannot read", st.Access.Unreadable)
	}
	for _, one := range st.Refused {
		switch {
		case one.Remark != "":
			say("  denied access to %s, which %s, so this command cannot allow access: if the server needs the path, edit the configuration", one.Path, one.Remark)
		case one.Unreadable:
			say("  denied access to %s; allow it: drawbridge sandbox allow %s %s", one.Path, st.Server, one.Allow)
		default:
			say("  denied access to %s; allow it: drawbridge sandbox allow --write %s %s", one.Path, st.Server, one.Allow)
		}
	}
	if st.RefusedMore > 0 {
		say("  and denied access to %d more", st.RefusedMore)
	}
	if !withSystem {
		return nil
	}
	t := terminal.Table{Head: []string{"This system can restrict", "", "Requires"}, Wrap: true}
	for _, one := range st.Protections {
		word := "no"
		if one.Enforced {
			word = "yes"
		}
		t.Add(one.Name, word, one.Requires)
	}
	return e.PrintTable(&t)
}

// printSome prints at most maxPaths paths, and how many more there are.
func printSome(say func(string, ...any), word string, paths []string) {
	const maxPaths = 100
	for _, path := range paths[:min(len(paths), maxPaths)] {
		say("  %s %s", word, path)
	}
	if more := len(paths) - maxPaths; more > 0 {
		say("  %s %d more: see --json", word, more)
	}
}

func printPaths(say func(string, ...any), read, write []string, network string, ports []int) {
	for _, path := range read {
		say("  may also read %s", path)
	}
	for _, path := range write {
		say("  may also write %s", path)
	}
	switch {
	case network == "any":
		say("  any network connections")
	case len(ports) == 0:
		say("  no network connections")
	default:
		say("  TCP to port %s, and UDP", strings.Trim(strings.ReplaceAll(fmt.Sprint(ports), " ", ", "), "[]"))
	}
}

// PrintDestinations prints the hosts and ports that a server connected to.
func PrintDestinations(e *terminal.Env, d Destinations) error {
	if !d.Available {
		fmt.Fprintln(e.Stdout, terminal.EscapeLine("Not available: "+d.Reason))
	}
	t := terminal.Table{Title: "%d destinations", Head: []string{"Host", "Port", "Protocol", "Address", "First seen", "Last seen"}, Keep: []bool{4: true, 5: true}, Right: []bool{1: true}}
	for _, one := range d.Items {
		t.Add(one.Host, strconv.Itoa(one.Port), one.Protocol, one.Address, e.Moment(one.FirstAt), e.Moment(one.LastAt))
	}
	return e.PrintTable(&t)
}
