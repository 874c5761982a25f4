//go:build e2e

package e2e

import (
	"fmt"
	"image"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/require"
)

// crashingPreload is preloaded into the process that renders a page and ends it at its start, as
// often as there are files in a folder.
const crashingPreload = `#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void born(void) {
	const char *folder = getenv("STILLBORN");
	char path[4096];
	if (folder == NULL || strcmp(program_invocation_short_name, "WebKitWebProcess") != 0)
		return;
	for (int i = 0; i < 20; i++) {
		snprintf(path, sizeof path, "%s/%d", folder, i);
		if (unlink(path) == 0)
			kill(getpid(), SIGKILL);
	}
}
`

// rendererCrashes makes the next n rendering processes die at their start.
type rendererCrashes struct {
	t      *testing.T
	folder string
	env    []string
}

func newRendererCrashes(t *testing.T) *rendererCrashes {
	t.Helper()
	dir := t.TempDir()
	source, library := filepath.Join(dir, "stillborn.c"), filepath.Join(dir, "stillborn.so")
	require.NoError(t, os.WriteFile(source, []byte(crashingPreload), 0o600))
	run(t, exec.Command("cc", "-shared", "-fPIC", "-o", library, source), 0)
	d := &rendererCrashes{t: t, folder: t.TempDir()}
	d.env = []string{"LD_PRELOAD=" + library, "STILLBORN=" + d.folder}
	return d
}

func (d *rendererCrashes) next(n int) {
	d.t.Helper()
	for i := range n {
		if err := os.WriteFile(filepath.Join(d.folder, strconv.Itoa(i)), nil, 0o600); err != nil {
			d.t.Fatal(err)
		}
	}
}

func (d *rendererCrashes) left() int {
	list, _ := os.ReadDir(d.folder)
	return len(list)
}

// rendererProcesses returns the processes that render a page of the daemon with the folder data,
// with their start times.
func rendererProcesses(data string) []process { return processesOf("WebKitWebProcess", data) }

// windowsOf returns the windows of the daemon with the folder data.
func windowsOf(data string) []process { return processesOf(filepath.Base(window), data) }

// processesOf returns the processes of a program whose environment contains the folder data.
func processesOf(program, data string) (list []process) {
	for _, p := range descendants(1) {
		exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.pid))
		env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.pid))
		if filepath.Base(exe) == program && strings.Contains(string(env), data) && p.state != "Z" {
			list = append(list, p)
		}
	}
	return list
}

// WebKit closes a window if the rendering process dies before it has reported its id. The window
// then restarts, at its start and later; after repeated crashes the page opens in the browser.
func TestPageCrashingAtStartRecovers(t *testing.T) {
	t.Parallel()
	needWindow(t)
	s := desktop(t)
	d := start(t, object{"mcpServers": object{"demo": demo()}}, s.display()...)
	t.Cleanup(func() { logWindowOnFailure(t, d.data) })
	d.running("demo")
	b := newRendererCrashes(t)
	tools := t.TempDir()
	opened := filepath.Join(tools, "opened")
	putProgram(t, filepath.Join(tools, "xdg-open"), ledTo+"ledTo \"$1\" >>"+strconv.Quote(opened)+"\n")
	env := append(append(d.env(), s.display()...), append(b.env, "PATH="+tools+":"+os.Getenv("PATH"))...)
	open := func() { run(t, command(t, env, binary, "--data", d.data), 0) }
	page := func(name string) {
		t.Helper()
		s.waitWindows(1)
		d.desktopSays(`"window":true`)
		eventually.Complete(t, patience, func() string {
			if n := colours(s.picture(name), image.Rect(340, 130, 1280, 900)); n < 12 {
				return fmt.Sprintf("the page has %d colours", n)
			}
			return ""
		})
		require.Equal(t, 0, b.left())
		got, err := os.ReadFile(opened)
		require.Errorf(t, err, "the browser opens, too: %s", got)
	}
	b.next(2)
	open()
	page("window-stillborn")

	// The rendering process and its successor crash.
	b.next(1)
	kill := func() (gone []process) {
		t.Helper()
		eventually.TrueWithin(t, patience, "no process draws the page", func() bool {
			gone = rendererProcesses(d.data)
			return len(gone) != 0
		})
		for _, p := range gone {
			syscall.Kill(p.pid, syscall.SIGKILL)
		}
		return gone
	}
	gone := kill()
	eventually.Complete(t, patience, func() string {
		if b.left() != 0 {
			return "nothing was born after the page's process died"
		}
		return alive(gone)
	})
	page("window-stillborn-later")
	d.running("demo")

	b.next(20)
	kill()
	eventually.Complete(t, patience, func() string {
		got, err := os.ReadFile(opened)
		if err != nil || !strings.HasPrefix(string(got), d.url+"/#code=") {
			return fmt.Sprintf("the browser is asked for %q (%v)", got, err)
		}
		if n := len(s.windows("Drawbridge")); n != 0 {
			return fmt.Sprintf("%d windows stay", n)
		}
		return ""
	})
	d.desktopSays(`"window":false`)

	// A new window does not restart either: the process that started it opens the browser, or, if
	// it no longer waits, the window does at its exit. Never both.
	os.Remove(opened)
	b.next(20)
	open()
	eventually.Complete(t, patience, func() string {
		got, err := os.ReadFile(opened)
		if n := len(rendererProcesses(d.data)) + len(s.windows("Drawbridge")); err != nil || n != 0 || strings.Count(string(got), "/#code=") != 1 {
			return fmt.Sprintf("the browser is asked for %q (%v), and %d windows and their processes are left", got, err, n)
		}
		return ""
	})
}
