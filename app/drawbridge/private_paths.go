package main

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/sandbox"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// privatePaths returns what no sandboxed server may read or write: our folders, the configuration
// files in use, which say what runs without a sandbox, the existing files of the clients, whose
// tokens let them call every server, and what the environment moves elsewhere.
func privatePaths(f config.Folders, sources config.Sources) []string {
	own := append([]string{f.Config, f.Data, f.State, f.Logs}, sandbox.MovedPrivatePaths(os.Getenv)...)
	files, _ := sources.Paths() // with an error, the main file
	for _, file := range files {
		for range maxConfigLinks {
			if path, err := filepath.Abs(file); err == nil {
				own = append(own, path)
			}
			to, err := os.Readlink(file)
			if err != nil {
				break
			}
			if !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(file), to)
			}
			file = to
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return own
	}
	return append(own, clientconf.System{GOOS: runtime.GOOS, Home: home, Getenv: os.Getenv}.Files()...)
}

// maxConfigLinks is how many symbolic links that lead from one to the next the kernel follows.
const maxConfigLinks = 40
