package main

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

func TestModulesOfAProgramMissingInTheBillAreNamed(t *testing.T) {
	text, err := sbom([]thirdPartySoftware{{name: "example.org/A", version: "v1.0.0+incompatible", licence: "MIT"}, {name: "example.org/b", version: "v2.0.0", licence: "MIT"}}, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	var bill struct{ Components []component }
	if err := json.Unmarshal(text, &bill); err != nil {
		t.Fatal(err)
	}
	var std string
	for _, c := range bill.Components {
		if c.Name == "std" {
			std = c.Version
		}
	}
	info := &buildinfo.BuildInfo{GoVersion: "go" + std, Deps: []*debug.Module{
		{Path: "example.org/A", Version: "v1.0.0+incompatible"},
		{Path: "example.org/old", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/b", Version: "v2.0.0"}},
	}}
	if got := unlisted(bill.Components, info); len(got) != 0 {
		t.Errorf("missing: %v", got)
	}
	info.GoVersion = "go0.9"
	info.Deps = append(info.Deps, &debug.Module{Path: "example.org/b", Version: "v2.0.1"}, &debug.Module{Path: "example.org/c", Version: "v1.0.0"})
	if got, want := unlisted(bill.Components, info), []string{"std 0.9", "example.org/b v2.0.1", "example.org/c v1.0.0"}; !slices.Equal(got, want) {
		t.Errorf("missing: %v, not %v", got, want)
	}

	// A whole program: this test contains modules that are not in the bill.
	file := filepath.Join(t.TempDir(), "bill.cdx.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := checkPrograms(file, []string{self}); err == nil || !strings.Contains(err.Error(), "github.com/google/licensecheck") {
		t.Errorf("the check of a program with other modules: %v", err)
	}
}
