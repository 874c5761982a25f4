//go:build !windows

package config

import "os"

// makePrivate makes a folder that is the person's alone, by its permissions. One that is
// there already stays as it is: the files in it have permissions of their own.
func makePrivate(dir string, _ bool) error { return os.MkdirAll(dir, 0o700) }

func exposed(string) bool { return false }
