package upstream

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/dockerexec"
	"github.com/drawbridge-mcp/drawbridge/backend/process"

	"github.com/stretchr/testify/assert"
)

// A retry helps only if the machine was short of a resource. Otherwise the error says what to
// correct.
func TestOnlyRecoverableStartsAreRetried(t *testing.T) {
	for _, err := range []error{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM} {
		said := startError("/bin/x", fmt.Errorf("cannot start /bin/x: %w", os.NewSyscallError("fork/exec", err)))
		assert.Equalf(t, core.CodeUnavailable, core.CodeOf(said), "%v is final", err)
	}
	for _, err := range []error{process.ErrNotFound, process.ErrNotExecutable, syscall.ENOTDIR} {
		said := startError("x", fmt.Errorf("cannot start x: %w", err))
		_, hint := core.Describe(said)
		assert.Truef(t, core.CodeOf(said) == core.CodeValidation && hint != "", "%v is tried again, or has no hint: %q", err, hint)
	}
}

// TestDockerFailureNamesRemedy: a missing dependency is waited for, and the user learns what to
// start.
func TestDockerFailureNamesRemedy(t *testing.T) {
	for _, c := range []struct {
		cause error
		waits bool
		want  core.Remedy
	}{
		{dockerexec.ErrNoDocker, true, core.Remedy{Kind: core.RemedyStartDocker}},
		{dockerexec.ErrNotRunning, true, core.Remedy{Kind: core.RemedyStartContainer, Name: "box", Command: "docker start box"}},
		{dockerexec.ErrNoContainer, true, core.EditConfig("docker")},
		{dockerexec.ErrPermission, false, core.Remedy{Kind: core.RemedyAllowDocker}},
		{dockerexec.ErrNoBinary, false, core.EditConfig("command")},
		{dockerexec.ErrNoImage, false, core.EditConfig("docker")},
		{dockerexec.ErrRefused, false, core.EditConfig("docker")},
	} {
		err := dockerError(dockerexec.Selector{Name: "box"}, fmt.Errorf("%w: %q", c.cause, "box"))
		e, ok := errors.AsType[*core.Error](err)
		if !ok || e.Hint == "" || errors.Is(err, ErrDependencyMissing) != c.waits || !errors.Is(err, c.cause) {
			t.Errorf("%v: %+v", c.cause, err)
			continue
		}
		if c.want.Kind == core.RemedyAllowDocker && runtime.GOOS != "linux" {
			c.want.Kind = core.RemedyStartDocker // Docker Desktop has no group of its users
		}
		got := e.Remedy
		assert.Truef(t, got.Kind == c.want.Kind && got.Name == c.want.Name && !(c.want.Command != "" && got.Command != c.want.Command), "%v: %+v", c.cause, got)
	}
}

func TestMissingSecretAndLockedKeyringNameRemedy(t *testing.T) {
	for _, failed := range []*core.Error{
		{Code: core.CodeNotFound, Message: "there is no secret", Remedy: core.Remedy{Kind: core.RemedySetSecret, Name: "key"}},
		{Code: core.CodeUnavailable, Message: "the keyring is locked", Remedy: core.Remedy{Kind: core.RemedyUnlockSecrets}},
	} {
		env := environment{secret: func(string) (string, error) { return "", failed }}
		_, err := env.expand("env.KEY", "${secret:key}")
		e, ok := errors.AsType[*core.Error](err)
		assert.Truef(t, ok && e.Remedy == failed.Remedy, "%v: %+v", failed, err)
	}
}
