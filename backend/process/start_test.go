//go:build linux

package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestChildInheritsOnlyItsMarker(t *testing.T) {
	t.Setenv("SECRET_OF_ANOTHER", "x")
	p, _ := start(t, newTestSpawner(t), "env", 0, func(s *Spec) {
		s.Env = append(s.Env, "MINE=1", MarkVariable+"=forged/by/the/config")
	})
	out, err := io.ReadAll(p.Stdout())
	must(t, err)
	text := string(out)
	if strings.Contains(text, "SECRET_OF_ANOTHER") || strings.Contains(text, "forged") {
		t.Errorf("environment:\n%s", text)
	}
	if !strings.Contains(text, "MINE=1\n") || strings.Count(text, MarkVariable+"=") != 1 {
		t.Errorf("environment:\n%s", text)
	}
}

func TestChildInheritsNoDescriptorThatWeInherited(t *testing.T) {
	inherited, err := unix.FcntlInt(2, unix.F_DUPFD, 231)
	must(t, err)
	defer unix.Close(inherited)
	p, _ := start(t, newTestSpawner(t), "", 0, func(s *Spec) { s.Path, s.Args = "/bin/ls", []string{"/proc/self/fd"} })
	if out, err := io.ReadAll(p.Stdout()); err != nil || !strings.Contains(string(out), "0\n1\n2\n") || strings.Contains(string(out), fmt.Sprintln(inherited)) {
		t.Errorf("descriptors %q, %v", out, err)
	}
}

func TestStartNamesMissingProgram(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	script := filepath.Join(dir, "script")
	must(t, os.WriteFile(plain, []byte("x"), 0o600))
	must(t, os.WriteFile(script, []byte("#!/no/such/interpreter\n"), 0o700))
	s := newTestSpawner(t)
	for name, c := range map[string]struct {
		spec Spec
		is   error
		says string
	}{
		"absent":         {Spec{Path: filepath.Join(dir, "absent")}, ErrNotFound, "absent"},
		"not executable": {Spec{Path: plain}, ErrNotExecutable, plain},
		"interpreter":    {Spec{Path: script}, ErrNotFound, "see its #! line"},
		"bad folder":     {Spec{Path: os.Args[0], Dir: filepath.Join(dir, "nowhere")}, os.ErrNotExist, "working directory"},
		"file as folder": {Spec{Path: os.Args[0], Dir: plain}, nil, "not a directory"},
		"no command":     {Spec{}, nil, "no command"},
	} {
		t.Run(name, func(t *testing.T) {
			c.spec.Name = "x"
			_, err := s.Start(c.spec)
			if err == nil || !strings.Contains(err.Error(), c.says) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("err = %v", err)
			}
		})
	}
}

func TestResolveReportsUsedPATH(t *testing.T) {
	dir := t.TempDir()
	tool := filepath.Join(dir, "tool")
	must(t, os.WriteFile(tool, []byte("#!/bin/sh\n"), 0o700))
	if got, err := Resolve("tool", "/nowhere:"+dir); err != nil || got != tool {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := Resolve("npx", "/nowhere:/neither"); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "/nowhere:/neither") {
		t.Errorf("err = %v", err)
	}
	must(t, os.Chmod(tool, 0o600))
	if _, err := Resolve("tool", dir); !errors.Is(err, ErrNotExecutable) {
		t.Errorf("err = %v", err)
	}
	t.Chdir(dir)
	must(t, os.Chmod(tool, 0o700))
	if got, err := Resolve("tool", ".:"); err == nil {
		t.Errorf("found %q through a relative folder of the PATH", got)
	}
}

func TestStartAfterCloseIsRefused(t *testing.T) {
	s := newTestSpawner(t)
	must(t, s.Close(t.Context()))
	if _, err := s.Start(Spec{Name: "x", Path: os.Args[0]}); !errors.Is(err, errClosed) {
		t.Errorf("err = %v", err)
	}
}
