package main

import (
	"context"
	"os"

	"github.com/drawbridge-mcp/drawbridge/backend/doctor"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// doctorOptions says what of this machine the doctor looks at; the API adds the rest.
func doctorOptions(current func() *config.Config) func(context.Context) (doctor.Options, error) {
	return func(ctx context.Context) (doctor.Options, error) {
		path := os.Getenv("PATH")
		login, noLogin := process.LoginEnv(ctx)
		if login["PATH"] != "" {
			path = login["PATH"]
		}
		return doctor.Options{
			Config: current(), Getenv: os.Getenv, Listening: doctor.Listening, Docker: doctor.AskDocker,
			LookPath: func(program string) (string, error) { return process.Resolve(program, path) }, LoginShell: noLogin,
		}, nil
	}
}

// bundleOptions says where a bundle for a bug report is collected from.
func bundleOptions(folders config.Folders, sources config.Sources) func(context.Context) doctor.BundleOptions {
	return func(ctx context.Context) doctor.BundleOptions {
		home, _ := os.UserHomeDir()
		paths, _ := sources.Paths() // a folder that cannot be read leaves its files out
		admin, _ := loopback.ReadAdmin(folders.Data)
		return doctor.BundleOptions{Folders: folders, Config: paths, Home: home, Secrets: []string{admin}, Getenv: process.Lookup(ctx, os.Getenv)}
	}
}
