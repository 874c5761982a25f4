package main

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestModulesOfAProgramMissingInTheBillAreNamed(t *testing.T) {
	text, err := sbom([]thirdPartySoftware{{name: "example.org/A", version: "v1.0.0+incompatible", licence: "MIT"}, {name: "example.org/b", version: "v2.0.0", licence: "MIT"}}, "1.2.3")
	require.NoError(t, err)
	var bill struct{ Components []component }
	require.NoError(t, json.Unmarshal(text, &bill))
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
	assert.Empty(t, unlisted(bill.Components, info))
	info.GoVersion = "go0.9"
	info.Deps = append(info.Deps, &debug.Module{Path: "example.org/b", Version: "v2.0.1"}, &debug.Module{Path: "example.org/c", Version: "v1.0.0"})
	got, want := unlisted(bill.Components, info), []string{"std 0.9", "example.org/b v2.0.1", "example.org/c v1.0.0"}
	assert.Equal(t, want, got)

	// A whole program: this test contains modules that are not in the bill.
	file := filepath.Join(t.TempDir(), "bill.cdx.json")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	self, err := os.Executable()
	require.NoError(t, err)
	assert.ErrorContains(t, checkPrograms(file, []string{self}), "github.com/google/licensecheck", "the check of a program with other modules")
}
