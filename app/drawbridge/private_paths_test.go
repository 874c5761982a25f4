package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/config"
)

func TestConfigurationFilesInUseArePrivate(t *testing.T) {
	data, dir := t.TempDir(), t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	folders, err := config.FoldersFor(data, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in("real.jsonc"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(folders.ConfDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{in("second.jsonc"): "real.jsonc", in("first.jsonc"): in("second.jsonc"), filepath.Join(folders.ConfDir(), "a.json"): in("of-folder.json")} {
		if err := os.Symlink(to, link); err != nil {
			t.Skipf("this account may not create symbolic links (Windows): %v", err)
		}
	}
	for name, c := range map[string]struct {
		sources config.Sources
		want    []string
	}{
		"given":   {config.SourcesFor(in("first.jsonc"), folders, func(string) string { return "" }), []string{in("first.jsonc"), in("second.jsonc"), in("real.jsonc"), data}},
		"default": {config.SourcesFor("", folders, func(string) string { return "" }), []string{in("of-folder.json"), data}},
	} {
		got := privatePaths(folders, c.sources)
		for _, path := range c.want {
			if !slices.Contains(got, path) {
				t.Errorf("%s: %s is missing", name, path)
			}
		}
	}
}
