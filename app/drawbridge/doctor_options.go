package main

import (
	"context"
	"os"

	"github.com/drawbridge-mcp/drawbridge/backend/doctor"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// doctorOptions returns a function that collects what the diagnostics check on this machine; the
// API adds the rest.
func doctorOptions(current func() *config.Config) func(context.Context) (doctor.Options, error) {
	return func(ctx context.Context) (doctor.Options, error) {
		path := os.Getenv("PATH")
		login, noLogin := process.LoginEnv(ctx)
		if login["PATH"] != "" {
			path = login["PATH"]
		}
		return doctor.Options{
			Config: current(), Getenv: os.Getenv, Listening: doctor.Listening, Docker: doctor.CheckDocker,
			LookPath: func(program string) (string, error) { return process.Resolve(program, path) }, LoginShellError: noLogin,
		}, nil
	}
}

// bundleOptions returns a function that names the sources of a diagnostics bundle.
func bundleOptions(folders config.Folders, sources config.Sources) func(context.Context) doctor.BundleOptions {
	return func(ctx context.Context) doctor.BundleOptions {
		home, _ := os.UserHomeDir()
		paths, _ := sources.Paths() // a folder that cannot be read adds no files
		admin, _ := loopback.ReadAdminToken(folders.Data)
		return doctor.BundleOptions{Folders: folders, Config: paths, Home: home, Secrets: []string{admin}, Getenv: process.Lookup(ctx, os.Getenv)}
	}
}
