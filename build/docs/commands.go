package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/app/features"
	"github.com/drawbridge-mcp/drawbridge/backend/cli"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const commandsHead = mark + `# Commands

Every command accepts ` + "`--data DIR`" + ` (or the variable ` + "`DRAWBRIDGE_DATA`" + `), the folder for all data, and
all except the interactive ones accept ` + "`--json`" + `, which prints the JSON documents of the API. Commands that ask for confirmation
accept ` + "`-y` or `--yes`" + `. The exit code is 0 for success, 1 for failure, and 2 for a usage error.
`

// commands generates the reference of the command line.
func commands() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(commandsHead)
	root := cli.New(cli.Options{Env: terminal.Env{Version: "docs"}, Features: features.Commands()})
	root.InitDefaultHelpFlag()
	writeCommand(&b, root, map[string]string{})
	return b.Bytes(), nil
}

// isDocumented reports whether a command is documented.
func isDocumented(c *cobra.Command) bool {
	return !c.Hidden && c.Name() != "help"
}

// described maps each line about a flag to the command that it was first written for.
func writeCommand(b *bytes.Buffer, c *cobra.Command, described map[string]string) {
	if !isDocumented(c) {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n", c.CommandPath())
	text := c.Long
	if text == "" {
		text = c.Short
	}
	b.WriteString(formatDescription(text) + "\n")
	if usage := strings.TrimSuffix(c.UseLine(), " [flags]"); usage != c.CommandPath() {
		fmt.Fprintf(b, "\n`%s`\n", usage)
	}
	if len(c.Aliases) > 0 {
		fmt.Fprintf(b, "\nAlias: `%s`.\n", strings.Join(c.Aliases, "`, `"))
	}
	if c.Example != "" {
		fmt.Fprintf(b, "\n```sh\n%s\n```\n", strings.TrimRight(dedent(c.Example), "\n"))
	}
	if list := flagEntries(c); len(list) > 0 {
		b.WriteString("\n")
		writeEntries(b, c.CommandPath(), list, described)
	}
	for _, sub := range c.Commands() {
		writeCommand(b, sub, described)
	}
}

// entry is a flag or a key, and the line that describes it.
type entry struct{ name, line string }

func flagEntries(c *cobra.Command) (list []entry) {
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		kind, usage := pflag.UnquoteUsage(f)
		if f.Hidden || f.Name == "help" || f.Name == "version" || usage == "do not ask for confirmation" {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if kind != "" {
			name += " " + kind
		}
		list = append(list, entry{"--" + f.Name, fmt.Sprintf("- `%s`: %s\n", name, escapeCell(usage))})
	})
	return list
}

// writeEntries writes the lines of a section, but only a reference to an earlier section with the
// same lines, if there are at least two. described maps lines to sections.
func writeEntries(b *bytes.Buffer, section string, list []entry, described map[string]string) {
	shared := map[string][]entry{}
	for _, e := range list {
		switch first := described[e.line]; first {
		case "":
			described[e.line] = section
			b.WriteString(e.line)
		default:
			shared[first] = append(shared[first], e)
		}
	}
	for _, first := range slices.Sorted(maps.Keys(shared)) {
		var names, lines []string
		for _, e := range shared[first] {
			names, lines = append(names, "`"+e.name+"`"), append(lines, e.line)
		}
		if len(lines) >= 2 {
			lines = []string{fmt.Sprintf("- %s: as for [%s](#%s)\n", strings.Join(names, ", "), first, anchor(first))}
		}
		b.WriteString(strings.Join(lines, ""))
	}
}

// formatDescription formats the long description of a command: one line per paragraph, and indented
// lines as code.
func formatDescription(text string) string {
	var out []string
	var now []string
	flush := func() {
		if len(now) > 0 {
			out = append(out, escapeCell(sentence(strings.Join(now, " "))))
		}
		now = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.TrimSpace(line) == "":
			flush()
		case strings.HasPrefix(line, "  "):
			flush()
			if last := len(out) - 1; last >= 0 && strings.HasSuffix(out[last], "\n```") { // one block for consecutive lines
				out[last] = strings.TrimSuffix(out[last], "```") + strings.TrimSpace(line) + "\n```"
			} else {
				out = append(out, "```sh\n"+strings.TrimSpace(line)+"\n```")
			}
		default:
			now = append(now, line)
		}
	}
	flush()
	return strings.Join(out, "\n\n")
}

func sentence(text string) string {
	text = strings.TrimSpace(text)
	if !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, ":") {
		text += "."
	}
	return text
}

// dedent removes the two spaces of indentation from cobra's examples.
func dedent(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, "  ")
	}
	return strings.Join(lines, "\n")
}
