package policy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"

	"github.com/spf13/cobra"
)

// Commands adds the command about the policy of calls.
func Commands(e *terminal.Env, root *cobra.Command) { root.AddCommand(explainCall(e)) }

// tryRules tests the rules of a file, or those in force, with the calls of the last days.
func tryRules(ctx context.Context, e *terminal.Env, files []string, days int) error {
	body := map[string]any{"days": days}
	if len(files) == 1 {
		text, err := readRules(e, files[0])
		if err != nil {
			return err
		}
		body["rules"] = string(text)
		body["yaml"] = slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(files[0]))
	}
	return terminal.Show(ctx, e, http.MethodPost, "policy/try", nil, body, func(t RuleTrial) error { return printRuleTrial(e, t) })
}

// maxRules is the most bytes that the daemon accepts.
const maxRules = 1 << 20

func readRules(e *terminal.Env, file string) ([]byte, error) {
	in := e.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("cannot open the rules: %w", err)
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxRules+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read the rules: %w", err)
	}
	if len(text) > maxRules {
		return nil, fmt.Errorf("the rules are larger than %d MiB", maxRules>>20)
	}
	return text, nil
}

func printRuleTrial(e *terminal.Env, t RuleTrial) error {
	table := terminal.Table{Title: "%d decisions", Head: []string{"ID", "At", "Client", "Server", "Tool", "Then", "Why"}, Keep: []bool{0: true, 1: true, 5: true}, Wrap: true}
	for _, d := range t.Decisions {
		table.Add(e.ShortID(d.ID), e.Moment(d.At), d.Client, d.Server, d.Tool, d.Then, d.Why)
	}
	if len(t.Decisions) > 0 {
		if err := e.PrintTable(&table); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("Of %s since %s, %d would have needed approval, %d would have been denied and %d would have been allowed.\n",
		core.Plural(t.Calls, "call"), t.From.Local().Format("2006-01-02"), t.Asked, t.Denied, t.Allowed)
	if n := t.Redacted + t.Cut + t.NotRecorded; n > 0 {
		text += fmt.Sprintf("%s could not be evaluated (arguments redacted: %d, truncated: %d, not recorded: %d).\n", core.Plural(n, "call"), t.Redacted, t.Cut, t.NotRecorded)
	}
	if n := t.ProfileUnknown; n > 0 {
		text += fmt.Sprintf("%s may have used a profile. The history does not record profiles, so rules for profiles were not applied.\n", core.Plural(n, "call"))
	}
	if !t.Complete {
		text += "Older calls in this period were not tested. For a complete result, use a smaller value for --days.\n"
	}
	if more := t.Asked + t.Denied - len(t.Decisions); more > 0 {
		text += fmt.Sprintf("The newest %d are shown.\n", len(t.Decisions))
	}
	_, err := fmt.Fprint(e.Stdout, text)
	return err
}
