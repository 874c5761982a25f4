// Command manpages generates the manual pages and the shell completions: manpages DIR VERSION.
package main

import (
	"log"
	"os"
	"path/filepath"

	"github.com/drawbridge-mcp/drawbridge/app/features"
	"github.com/drawbridge-mcp/drawbridge/backend/cli"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"

	"github.com/spf13/cobra/doc"
)

func main() {
	dir, version := os.Args[1], os.Args[2]
	man, completions := filepath.Join(dir, "man"), filepath.Join(dir, "completions")
	for _, d := range []string{man, completions} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			log.Fatal(err)
		}
	}
	root := cli.New(cli.Options{Env: terminal.Env{Version: version}, Features: features.Commands()})
	root.DisableAutoGenTag = true
	// The pages are dated SOURCE_DATE_EPOCH, which makes them reproducible.
	err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "Drawbridge " + version, Manual: "Drawbridge"}, man)
	if err != nil {
		log.Fatal(err)
	}
	for name, write := range map[string]func(path string) error{
		"drawbridge.bash": func(path string) error { return root.GenBashCompletionFileV2(path, true) },
		"_drawbridge":     root.GenZshCompletionFile,
		"drawbridge.fish": func(path string) error { return root.GenFishCompletionFile(path, true) },
		"drawbridge.ps1":  root.GenPowerShellCompletionFileWithDesc,
	} {
		if err := write(filepath.Join(completions, name)); err != nil {
			log.Fatal(err)
		}
	}
}
