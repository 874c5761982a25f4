package main

import (
	"context"
	"os"

	"drawbridge/backend/doctor"
	"drawbridge/backend/process"
	"drawbridge/config"
)

// patient says what of this machine the doctor looks at; the API adds the rest.
func patient(current func() *config.Config) func(context.Context) (doctor.Options, error) {
	return func(ctx context.Context) (doctor.Options, error) {
		path := os.Getenv("PATH")
		if env, err := process.LoginEnv(ctx); err == nil && env["PATH"] != "" {
			path = env["PATH"]
		}
		return doctor.Options{
			Config: current(), Getenv: os.Getenv, Listening: doctor.Listening, Docker: doctor.AskDocker,
			LookPath: func(program string) (string, error) { return process.Resolve(program, path) },
		}, nil
	}
}
