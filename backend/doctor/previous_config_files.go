package doctor

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/drawbridge-mcp/drawbridge/config"
)

// readPreviousConfigFiles returns the retained former texts of the configuration, by path: the
// copies from before edits, and the files of the last valid configuration. Logs may contain secrets
// from them, even if a current file cannot be read.
func readPreviousConfigFiles(f config.Folders) map[string][]byte {
	texts := map[string][]byte{}
	copies := config.BackupsOf(f.Data)
	list, _ := copies.List() // unreadable copies are skipped
	for _, c := range list {
		path := filepath.Join(copies.Dir, c.Name)
		if src, err := os.ReadFile(path); err == nil {
			texts[path] = src
		}
	}
	var good struct {
		Files []struct{ Path, Text string } `json:"files"`
	}
	if src, err := os.ReadFile(f.LastGoodConfigFile()); err == nil && json.Unmarshal(src, &good) == nil {
		for _, one := range good.Files {
			texts["last good/"+one.Path] = []byte(one.Text)
		}
	}
	return texts
}
