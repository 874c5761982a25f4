//go:build linux

package process

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLoginEnvIsParsedFromChattyShell(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	// A start-up file that prints, and starts a process that keeps stdout open.
	profile := "echo 'Welcome!'\nexport PATH=/opt/node/bin:$PATH\nexport MULTI='a\nb=c'\nsleep 90 &\n"
	require.NoError(t, os.WriteFile(filepath.Join(home, ".bash_profile"), []byte(profile), 0o600))
	bash, err := Resolve("bash", "/bin:/usr/bin")
	if err != nil {
		t.Skip(err)
	}
	env, err := readShellEnv(bash, time.Minute) // less than the lifetime of the process that keeps stdout open
	require.NoError(t, err)
	if !strings.HasPrefix(env["PATH"], "/opt/node/bin:") || env["MULTI"] != "a\nb=c" {
		t.Errorf("PATH %q, MULTI %q", env["PATH"], env["MULTI"])
	}
}

func TestLoginEnvIsReadWithoutNULs(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	env := shellScript(t, "#!/bin/sh\n[ $# = 0 ] || exit 1\nexec /usr/bin/env\n")
	require.NoError(t, os.Rename(env, filepath.Join(filepath.Dir(env), "env")))
	require.NoError(t, os.WriteFile(filepath.Join(home, ".profile"), []byte("PATH="+filepath.Dir(env)+":$PATH\n"), 0o600))
	vars, err := readShellEnv("/bin/sh", time.Minute)
	require.NoError(t, err)
	assert.Equal(t, home, vars["HOME"])
}

// shellScript writes a shell that runs text. A process that another test starts during the write
// would inherit the open file, and a file that is open for writing cannot be executed.
func shellScript(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sh")
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o700))
	return path
}

func TestHangingLoginShellIsAbandoned(t *testing.T) {
	t.Parallel()
	shell := shellScript(t, "#!/bin/sh\nsleep 60\n")
	begun := time.Now()
	_, err := readShellEnv(shell, 200*time.Millisecond)
	assert.ErrorContains(t, err, "did not respond")
	took := time.Since(begun)
	assert.Truef(t, took <= 30*time.Second, "took %s", took)
}

// A shell that is ended during its start-up files lets their children remove their locks. If it
// were killed immediately, the locks would block every later shell of the user.
func TestKilledLoginShellLeavesNoLock(t *testing.T) {
	t.Parallel()
	lock, came := filepath.Join(t.TempDir(), "lock"), filepath.Join(t.TempDir(), "came")
	shell := shellScript(t, "#!/bin/bash\ntrap 'rm -f "+lock+"' EXIT\ntouch "+lock+" "+came+"\nsleep 300\n")
	// On a busy machine the shell may be ended before it has created its lock.
	for limit := 250 * time.Millisecond; ; limit *= 3 {
		_, err := readShellEnv(shell, limit)
		assert.Error(t, err, "a shell that hangs has answered")
		if _, err := os.Stat(came); err == nil {
			break
		}
		require.True(t, limit <= time.Minute, "the shell never took its lock")
	}
	_, err := os.Stat(lock)
	assert.ErrorIs(t, err, os.ErrNotExist, "the lock is still there")
}

func TestLoginEnvIsReadOnceAndFallsBack(t *testing.T) {
	t.Setenv("MINE", "1")
	reads := 0
	release := make(chan struct{})
	r := newLoginEnvReader(func(time.Duration) (map[string]string, error) {
		reads++
		<-release
		return nil, errors.New("no shell")
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if env, err := r.get(ctx); !errors.Is(err, context.Canceled) || env["MINE"] != "1" {
		t.Errorf("%v, MINE %q", err, env["MINE"])
	}
	close(release)
	for range 3 {
		env, err := r.get(t.Context())
		require.Error(t, err)
		require.Equal(t, "1", env["MINE"])
		env["MINE"] = "changed by one caller"
	}
	assert.Equal(t, 1, reads)
}

// A newly installed program is found, and the result of an earlier read is kept if the shell
// hangs.
func TestLoginEnvIsReadAgainAfterExpiry(t *testing.T) {
	t.Parallel()
	answers := []struct {
		path string
		err  error
	}{{"/old", nil}, {"/new", nil}, {"", errors.New("no answer")}}
	reads := 0
	r := newLoginEnvReader(func(time.Duration) (map[string]string, error) {
		a := answers[reads]
		reads++
		return map[string]string{"PATH": a.path}, a.err
	})
	assert.False(t, r.expire(0), "what nobody has read has expired")
	get := func(want string, failed bool) {
		t.Helper()
		env, err := r.get(t.Context())
		assert.Equal(t, want, env["PATH"])
		assert.Equal(t, failed, err != nil)
	}
	get("/old", false)
	assert.False(t, r.expire(time.Hour), "a new answer has expired")
	get("/old", false)
	assert.True(t, len(r.changed) == 0, "the first reading counts as a change")
	assert.True(t, r.expire(0), "an old answer has not expired")
	get("/new", false)
	assert.True(t, len(r.changed) == 1, "nobody hears of the second reading")
	r.expire(0)
	get("/new", true)
	get("/new", true)
	assert.Equal(t, 3, reads)
}

func TestLongerLimitRetriesTimedOutLoginShell(t *testing.T) {
	t.Parallel()
	r := newLoginEnvReader(func(limit time.Duration) (map[string]string, error) {
		if limit < time.Minute {
			return nil, errors.New("no answer")
		}
		return map[string]string{"PATH": "/slow"}, nil
	})
	_, err := r.get(t.Context())
	assert.Error(t, err, "it answered within 10 s")
	r.setLimit(time.Minute)
	for _, limit := range []time.Duration{time.Minute, time.Second} { // the known environment is kept
		if env, err := r.get(t.Context()); err != nil || env["PATH"] != "/slow" {
			t.Errorf("PATH %q, %v", env["PATH"], err)
		}
		r.setLimit(limit)
	}
}

func TestBaseEnvContainsNoSecrets(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", "x")
	t.Setenv("LC_TIME", "C")
	env := BaseEnv()
	assert.False(t, slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "GITHUB_TOKEN=") }), "a token leaked")
	if !slices.Contains(env, "LC_TIME=C") || !slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "PATH=") }) {
		t.Errorf("missing: %v", env)
	}
}
