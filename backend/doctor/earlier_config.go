package doctor

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/drawbridge-mcp/drawbridge/config"
)

// earlier returns the texts by path that the configuration had before, as far as they were
// kept: the copies of edits, and the files that the last good configuration was made from. A
// log holds what servers printed of them, also while a file of today cannot be read.
func earlier(f config.Folders) map[string][]byte {
	texts := map[string][]byte{}
	copies := config.CopiesOf(f.Data)
	list, _ := copies.List() // one that cannot be read is left out, as any file here
	for _, c := range list {
		path := filepath.Join(copies.Dir, c.Name)
		if src, err := os.ReadFile(path); err == nil {
			texts[path] = src
		}
	}
	var good struct {
		Files []struct{ Path, Text string } `json:"files"`
	}
	if src, err := os.ReadFile(f.LastGood()); err == nil && json.Unmarshal(src, &good) == nil {
		for _, one := range good.Files {
			texts["last good/"+one.Path] = []byte(one.Text)
		}
	}
	return texts
}
