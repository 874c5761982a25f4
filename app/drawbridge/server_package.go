package main

import (
	"os"

	"github.com/drawbridge-mcp/drawbridge/backend/marketplace"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// packageOf returns the package that a server runs with its version, or its image, or "".
func packageOf(s *config.Server, pids []int) string {
	spec, ok := marketplace.Find(s)
	if !ok {
		return ""
	}
	if spec.Launcher == marketplace.Image {
		return spec.Text
	}
	home, _ := os.UserHomeDir() // without one, the caches of launchers are not searched
	found := marketplace.Resolve(spec, marketplace.Environment{Home: home, Getenv: os.Getenv}, pids, nil)
	if found.Version == "" {
		return spec.Package
	}
	return spec.Package + "@" + found.Version
}
