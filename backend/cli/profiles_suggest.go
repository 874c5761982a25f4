package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// suggestProfiles returns the command that suggests profiles for folders.
func (p *program) suggestProfiles() *cobra.Command {
	var folder string
	var days int
	var save bool
	cmd := &cobra.Command{
		Use: "suggest", Short: "Suggest profiles for folders, based on the tools that were called there", Args: noArgs,
		Long: "Suggest profiles for the folders in which clients work, based on the tools that they called there. With --folder, list the tools of one folder; with --save, save them as its profile.",
		Example: "  drawbridge profiles suggest\n" +
			"  drawbridge profiles suggest --folder . --save",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if save && folder == "" {
				return usageError{errors.New("--save requires --folder")}
			}
			query := url.Values{"days": {strconv.Itoa(days)}}
			if folder != "" {
				path, err := filepath.Abs(folder)
				if err != nil {
					return err
				}
				folder = path
				query.Set("folder", path)
			}
			return p.printSuggestions(cmd.Context(), query, folder, days, save)
		},
	}
	cmd.Flags().StringVar(&folder, "folder", "", "only this `FOLDER`, with its tools")
	cmd.Flags().IntVar(&days, "days", 30, "base suggestions on the calls of the last `NUMBER` days")
	cmd.Flags().BoolVar(&save, "save", false, "save the profile of the folder; remove it with 'profiles remove'")
	return cmd
}

func (p *program) printSuggestions(ctx context.Context, query url.Values, folder string, days int, save bool) error {
	d, err := p.daemon()
	if err != nil {
		return err
	}
	raw, err := d.requestRaw(ctx, http.MethodGet, "profile-suggestions", query, nil)
	if err != nil {
		return err
	}
	if p.json && !save {
		return p.printRaw(raw)
	}
	var list api.ProfileSuggestions
	if err := decode(raw, &list); err != nil {
		return err
	}
	if len(list.Items) == 0 {
		if folder != "" {
			return fmt.Errorf("no tool was called in %s in the last %s", escapeLine(folder), core.Plural(days, "day"))
		}
		_, err := fmt.Fprintln(p.Stdout, "There is nothing to suggest yet: a folder must have been used for a few days. To see the tools of one folder, use --folder.")
		return err
	}
	if folder == "" {
		t := table{title: "%d suggestions", head: []string{"FOLDER", "TOOLS", "OF", "SAVES", "LAST CALL"}, right: []bool{false, true, true, true}}
		for _, one := range list.Items {
			t.add(one.Folder, strconv.Itoa(len(one.Tools)), strconv.Itoa(one.AllTools), fmt.Sprintf("~%d tokens", one.Saved), one.Last.Local().Format(time.DateOnly))
		}
		if err := p.printTable(&t); err != nil {
			return err
		}
		_, err := fmt.Fprintln(p.Stdout, "Save one with: drawbridge profiles suggest --folder FOLDER --save")
		return err
	}
	one := list.Items[0]
	if save {
		if one.Profile != "" {
			return fmt.Errorf("%s already has the profile %q: change it with 'profiles set', or remove it first", escapeLine(folder), one.Profile)
		}
		return p.requestChange(ctx, http.MethodPut, "profiles/"+url.PathEscape(one.Name), map[string]any{"entry": one.Entry},
			fmt.Sprintf("Clients that work in %s now use the profile %s. Undo it with: drawbridge profiles remove %s", escapeLine(folder), one.Name, one.Name))
	}
	t := table{title: "%d tools", head: []string{"SERVER", "TOOL", "CALLS"}, right: []bool{false, false, true}}
	for _, tool := range one.Tools {
		t.add(tool.Server, tool.Tool, strconv.FormatInt(tool.Calls, 10))
	}
	if err := p.printTable(&t); err != nil {
		return err
	}
	text := fmt.Sprintf("In %s, %d of %d tools were called in the last %s. A profile with only these tools would take about %d tokens and save %d per session.", folder, len(one.Tools), one.AllTools, core.Plural(days, "day"), one.Tokens, one.Saved)
	if one.Profile != "" {
		text += " The folder already has the profile " + one.Profile + "."
	} else {
		text += " Save it with --save."
	}
	_, err = fmt.Fprintln(p.Stdout, escapeLine(strings.TrimSpace(text)))
	return err
}
