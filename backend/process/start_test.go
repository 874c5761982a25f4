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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestChildInheritsOnlyItsMarker(t *testing.T) {
	t.Setenv("SECRET_OF_ANOTHER", "x")
	p, _ := start(t, newTestSpawner(t), "env", 0, func(s *Spec) {
		s.Env = append(s.Env, "MINE=1", MarkVariable+"=forged/by/the/config")
	})
	out, err := io.ReadAll(p.Stdout())
	require.NoError(t, err)
	text := string(out)
	assert.NotContains(t, text, "SECRET_OF_ANOTHER")
	assert.NotContains(t, text, "forged")
	assert.Contains(t, text, "MINE=1\n")
	assert.Equal(t, 1, strings.Count(text, MarkVariable+"="))
}

func TestChildInheritsNoDescriptorThatWeInherited(t *testing.T) {
	inherited, err := unix.FcntlInt(2, unix.F_DUPFD, 231)
	require.NoError(t, err)
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
	require.NoError(t, os.WriteFile(plain, []byte("x"), 0o600))
	require.NoError(t, os.WriteFile(script, []byte("#!/no/such/interpreter\n"), 0o700))
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
			assert.Truef(t, err != nil && strings.Contains(err.Error(), c.says) && !(c.is != nil && !errors.Is(err, c.is)), "err = %v", err)
		})
	}
}

func TestResolveReportsUsedPATH(t *testing.T) {
	dir := t.TempDir()
	tool := filepath.Join(dir, "tool")
	require.NoError(t, os.WriteFile(tool, []byte("#!/bin/sh\n"), 0o700))
	got, err := Resolve("tool", "/nowhere:"+dir)
	assert.Truef(t, err == nil && got == tool, "got %q, %v", got, err)
	_, err = Resolve("npx", "/nowhere:/neither")
	assert.Truef(t, errors.Is(err, ErrNotFound) && strings.Contains(err.Error(), "/nowhere:/neither"), "err = %v", err)
	require.NoError(t, os.Chmod(tool, 0o600))
	_, err = Resolve("tool", dir)
	assert.ErrorIs(t, err, ErrNotExecutable)
	t.Chdir(dir)
	require.NoError(t, os.Chmod(tool, 0o700))
	got, err = Resolve("tool", ".:")
	assert.Errorf(t, err, "found %q through a relative folder of the PATH", got)
}

func TestStartAfterCloseIsRefused(t *testing.T) {
	s := newTestSpawner(t)
	require.NoError(t, s.Close(t.Context()))
	_, err := s.Start(Spec{Name: "x", Path: os.Args[0]})
	assert.ErrorIs(t, err, errClosed)
}
