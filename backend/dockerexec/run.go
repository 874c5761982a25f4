package dockerexec

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/hideconsole"
)

// The labels of containers that a `docker run` of ours made: whose they are, and
// which start of it.
const (
	ServerLabel = "drawbridge.server"
	runLabel    = "drawbridge.run"
)

// Run is the user's `docker run` command, changed so that its container is found
// again. Ending the docker command does not end the container when that ignores the
// end of its input: the Engine runs it, not the command. Remove does.
type Run struct {
	// Args are the arguments to start the command with.
	Args []string
	// NoTerminal says that -t was left out of them: a terminal echoes what is
	// written, and translates line ends.
	NoTerminal bool

	at     runEntry
	ledger string
}

// runEntry is what it takes to reach the container again after a crash.
type runEntry struct {
	Command string   `json:"command"` // the docker command
	Globals []string `json:"globals"` // its options before "run": which Engine
	Env     []string `json:"env"`     // the part that says which Engine
	Mark    string   `json:"mark"`
	CIDFile string   `json:"cidfile"` // where the command writes the container's id; "" when it is told another place
}

// FollowRun recognises a command that runs a container in the foreground: docker,
// its options, and run. command is the executable, env its whole environment. ledger
// is the folder that Sweep looks into; "" keeps nothing for a sweep.
//
// A command hidden in a script or behind sudo is not recognised.
func FollowRun(server, command string, args, env []string, ledger string) (r *Run, ok bool) {
	name := strings.TrimSuffix(strings.ToLower(filepath.Base(command)), ".exe")
	if name != "docker" {
		return nil, false
	}
	globals, verb, options, rest, ok := splitRun(args)
	if !ok {
		return nil, false
	}
	kept, terminal, cidfile := withoutTerminal(options)
	mark := rand.Text()
	r = &Run{NoTerminal: terminal, ledger: ledger, at: runEntry{Command: command, Globals: globals, Env: engineEnv(env), Mark: mark}}
	ours := []string{"--label", ServerLabel + "=" + server, "--label", runLabel + "=" + mark}
	if !cidfile && ledger != "" {
		r.at.CIDFile = filepath.Join(ledger, mark+".cid")
		ours = append(ours, "--cidfile", r.at.CIDFile)
	}
	r.Args = slices.Concat(globals, verb, ours, kept, rest)
	return r, true
}

// Enlist writes the run down for a sweep. Call it before the command is started.
func (r *Run) Enlist() error {
	if r.ledger == "" {
		return nil
	}
	text, err := json.Marshal(r.at)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.ledger, 0o700); err != nil {
		return err
	}
	return os.WriteFile(r.at.path(r.ledger), text, 0o600)
}

// Forget takes the run out of the ledger. Call it when the command could not be started.
func (r *Run) Forget() error {
	if r.ledger == "" {
		return nil
	}
	return r.at.delist(r.ledger)
}

// Remove ends and removes the container, however far it came. Call it when the
// docker command has ended. It returns when the container is gone, or when ctx ends;
// then the run stays in the ledger.
func (r *Run) Remove(ctx context.Context) error {
	_, err := r.at.remove(ctx)
	if err == nil {
		err = r.Forget()
	}
	return err
}

const runSuffix = ".run"

func (e *runEntry) path(ledger string) string { return filepath.Join(ledger, e.Mark+runSuffix) }

func (e *runEntry) delist(ledger string) error {
	var errs []error
	for _, path := range []string{e.path(ledger), e.CIDFile} {
		if path == "" {
			continue
		}
		if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// lateCreation is how long a container may take to appear after the command that
// asked for it was killed.
const lateCreation = 2 * time.Second

// remove removes what carries the mark until nothing does, and returns how many
// containers there were.
func (e *runEntry) remove(ctx context.Context) (removed int, err error) {
	// The command makes the file, writes the id when there is one, and takes an empty
	// file away. One that is still empty is of a command killed while it waited.
	var patience time.Duration
	if id, err := os.ReadFile(e.CIDFile); e.CIDFile != "" && err == nil && len(id) == 0 {
		patience = lateCreation
	}
	seen := map[string]bool{}
	for begun := time.Now(); ; {
		out, err := e.docker(ctx, "ps", "--all", "--quiet", "--no-trunc", "--filter", "label="+runLabel+"="+e.Mark)
		if err != nil {
			return len(seen), err
		}
		ids := strings.Fields(out)
		switch {
		case len(ids) > 0:
			for _, id := range ids {
				seen[id] = true
			}
			// It fails when --rm is removing the container at this moment: the next look tells.
			_, err = e.docker(ctx, append([]string{"rm", "--force", "--volumes"}, ids...)...)
		case len(seen) > 0 || time.Since(begun) >= patience:
			return len(seen), nil
		}
		pause := time.NewTimer(50 * time.Millisecond)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return len(seen), errors.Join(fmt.Errorf("cannot remove container: %w", context.Cause(ctx)), err)
		}
	}
}

// docker runs the same command against the same Engine. The command, not the
// Engine's API, because it knows contexts, certificates and ssh.
func (e *runEntry) docker(ctx context.Context, args ...string) (string, error) {
	cmd := hideconsole.HideWindow(exec.CommandContext(ctx, e.Command, append(slices.Clone(e.Globals), args...)...))
	cmd.Env = e.Env
	cmd.WaitDelay = time.Second
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("cannot run docker %s: %w: %s", args[0], err, bytes.TrimSpace(errs.Bytes()))
	}
	return string(out), nil
}

// sweepRun removes the container of one entry in the ledger.
func sweepRun(ctx context.Context, ledger, path string) (removed int, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	var e runEntry
	if json.Unmarshal(text, &e) != nil || e.Mark == "" || e.path(ledger) != path {
		return 0, os.Remove(path) // torn by the crash, before the command was started
	}
	if removed, err = e.remove(ctx); err == nil {
		err = e.delist(ledger)
	}
	return removed, err
}

// engineEnv keeps of an environment what says which Engine is meant and how to
// reach it. It is written to the ledger, so nothing else may be in it.
func engineEnv(env []string) (kept []string) {
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		switch strings.ToUpper(name) {
		case "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS", "DOCKER_TLS_VERIFY", "DOCKER_API_VERSION",
			"PATH", "HOME", "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK", "USERPROFILE", "SYSTEMROOT", "APPDATA", "LOCALAPPDATA", "PROGRAMFILES":
			kept = append(kept, kv)
		}
	}
	if kept == nil {
		kept = []string{} // nil would be our own
	}
	return kept
}
