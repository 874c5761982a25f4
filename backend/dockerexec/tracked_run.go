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

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// Labels of containers that docker run commands create for us: the server id, and the mark of the
// start.
const (
	ServerLabel = "drawbridge.server"
	runLabel    = "drawbridge.run"
)

// TrackedRun is the user's docker run command, changed so that its container can be found again. The
// container is run by the Engine, so it survives the docker command if it ignores the end of its
// input. Remove removes it.
type TrackedRun struct {
	// Args are the arguments to start the command with.
	Args []string
	// NoTerminal is set if -t was removed from Args, because a terminal echoes input and
	// translates line ends.
	NoTerminal bool

	at     runEntry
	ledger string
}

// runEntry is the record from which a container is found after a crash.
type runEntry struct {
	Command string   `json:"command"` // the docker command
	Globals []string `json:"globals"` // its options before "run", which select the Engine
	Env     []string `json:"env"`     // the variables that select the Engine; see engineEnv
	Mark    string   `json:"mark"`
	CIDFile string   `json:"cidfile"` // file to which the command writes the container's id; "" if the user specified another one
}

// TrackRun recognizes a docker run command. command is the executable, and env its complete
// environment. ledger is the folder that EndOrphans reads; "" means none.
//
// A command inside a script or behind sudo is not recognized.
func TrackRun(server, command string, args, env []string, ledger string) (r *TrackedRun, ok bool) {
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
	r = &TrackedRun{NoTerminal: terminal, ledger: ledger, at: runEntry{Command: command, Globals: globals, Env: engineEnv(env), Mark: mark}}
	ours := []string{"--label", ServerLabel + "=" + server, "--label", runLabel + "=" + mark}
	if !cidfile && ledger != "" {
		r.at.CIDFile = filepath.Join(ledger, mark+".cid")
		ours = append(ours, "--cidfile", r.at.CIDFile)
	}
	r.Args = slices.Concat(globals, verb, ours, kept, rest)
	return r, true
}

// AddToLedger writes the record for EndOrphans. It must be called before the command is started.
func (r *TrackedRun) AddToLedger() error {
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

// RemoveFromLedger removes the record. It must be called if the command could not be started.
func (r *TrackedRun) RemoveFromLedger() error {
	if r.ledger == "" {
		return nil
	}
	return r.at.removeFiles(r.ledger)
}

// Remove removes the container in any state. It must be called after the docker command has
// exited. It returns when the container has been removed or ctx is done; in the latter case the
// record remains.
func (r *TrackedRun) Remove(ctx context.Context) error {
	_, err := r.at.remove(ctx)
	if err == nil {
		err = r.RemoveFromLedger()
	}
	return err
}

const runSuffix = ".run"

func (e *runEntry) path(ledger string) string { return filepath.Join(ledger, e.Mark+runSuffix) }

func (e *runEntry) removeFiles(ledger string) error {
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

// lateCreation is how long after the end of the docker command its container may still be
// created.
const lateCreation = 2 * time.Second

// remove removes the containers with the mark until none is left, and returns their number.
func (e *runEntry) remove(ctx context.Context) (removed int, err error) {
	// The docker command creates the file, writes the id when the container exists, and removes
	// an empty file when it exits. A file that is still empty means that the command was killed
	// while it waited for the Engine.
	var limit time.Duration
	if id, err := os.ReadFile(e.CIDFile); e.CIDFile != "" && err == nil && len(id) == 0 {
		limit = lateCreation
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
			// Fails if --rm is removing the container at this moment; the next iteration checks
			// that.
			_, err = e.docker(ctx, append([]string{"rm", "--force", "--volumes"}, ids...)...)
		case len(seen) > 0 || time.Since(begun) >= limit:
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

// docker runs the user's docker command with the same global options. It uses the command and not
// the Engine's API, because the command supports contexts, certificates and ssh.
func (e *runEntry) docker(ctx context.Context, args ...string) (string, error) {
	cmd := osutil.HideConsole(exec.CommandContext(ctx, e.Command, append(slices.Clone(e.Globals), args...)...))
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

func removeOrphanedRun(ctx context.Context, ledger, path string) (removed int, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	var e runEntry
	if json.Unmarshal(text, &e) != nil || e.Mark == "" || e.path(ledger) != path {
		return 0, os.Remove(path) // incomplete: the crash happened before the command was started
	}
	if removed, err = e.remove(ctx); err == nil {
		err = e.removeFiles(ledger)
	}
	return removed, err
}

// engineEnv returns the variables that select an Engine and are needed to reach it. It contains
// no others, because the result is written to the ledger.
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
		kept = []string{} // nil would mean our own environment
	}
	return kept
}

// Options of the docker command. Flags take no value, all others take one. Short options are
// single letters.
var (
	globalFlags  = map[string]bool{"D": true, "debug": true, "tls": true, "tlsverify": true}
	globalValues = map[string]bool{"config": true, "c": true, "context": true, "H": true, "host": true, "l": true,
		"log-level": true, "tlscacert": true, "tlscert": true, "tlskey": true}
	runFlags = map[string]bool{"d": true, "detach": true, "disable-content-trust": true, "help": true, "i": true, "interactive": true,
		"init": true, "no-healthcheck": true, "oom-kill-disable": true, "P": true, "publish-all": true, "privileged": true,
		"q": true, "quiet": true, "read-only": true, "rm": true, "sig-proxy": true, "t": true, "tty": true, "use-api-socket": true}
)

// splitRun splits the arguments of docker into its global options, the verb ("run" or "container
// run"), the options of run, and the image with its command.
func splitRun(args []string) (globals, verb, options, rest []string, ok bool) {
	n := 0
	for n < len(args) && strings.HasPrefix(args[n], "-") {
		name, _, _ := strings.Cut(strings.TrimLeft(args[n], "-"), "=")
		if !strings.HasPrefix(args[n], "--") && len(name) > 1 {
			name = name[:1] // -Hunix:///var/run/docker.sock
		}
		if !globalFlags[name] && !globalValues[name] {
			return nil, nil, nil, nil, false
		}
		n += argCount(args[n], globalFlags)
	}
	if n >= len(args) {
		return nil, nil, nil, nil, false
	}
	globals, args = args[:n], args[n:]
	n = 1
	if args[0] == "container" && len(args) > 1 {
		n = 2
	}
	if args[n-1] != "run" {
		return nil, nil, nil, nil, false
	}
	verb, args = args[:n], args[n:]
	n = 0
	for n < len(args) && len(args[n]) > 1 && args[n][0] == '-' && args[n] != "--" {
		n += argCount(args[n], runFlags)
	}
	n = min(n, len(args))
	return globals, verb, args[:n], args[n:], true
}

// argCount returns the number of arguments that an option occupies: 2 if its value is the next
// argument.
func argCount(option string, flags map[string]bool) int {
	if long, ok := strings.CutPrefix(option, "--"); ok {
		if name, _, valued := strings.Cut(long, "="); valued || flags[name] {
			return 1
		}
		return 2
	}
	for i, letter := range option[1:] {
		if !flags[string(letter)] { // its value is the rest of the argument, or the next argument
			if i+2 < len(option) {
				return 1
			}
			return 2
		}
		if strings.HasPrefix(option[i+2:], "=") {
			return 1
		}
	}
	return 1
}

// withoutTerminal removes -t from the options of run. It reports whether it was set, and whether
// --cidfile is.
func withoutTerminal(options []string) (kept []string, terminal, cidfile bool) {
	for n := 0; n < len(options); {
		option, w := options[n], min(argCount(options[n], runFlags), len(options)-n)
		name, value, _ := strings.Cut(option, "=")
		switch {
		case name == "--tty":
			terminal = terminal || value != "false"
		case name == "--cidfile":
			cidfile = true
			kept = append(kept, options[n:n+w]...)
		case strings.HasPrefix(option, "--"):
			kept = append(kept, options[n:n+w]...)
		default:
			short, had := withoutTTYFlag(option)
			terminal = terminal || had
			if short != "-" {
				kept = append(append(kept, short), options[n+1:n+w]...)
			}
		}
		n += w
	}
	return kept, terminal, cidfile
}

// withoutTTYFlag removes the t from combined short options, such as -it, but not from a value,
// such as -eterm=x.
func withoutTTYFlag(word string) (short string, had bool) {
	short = "-"
	for i := 1; i < len(word); i++ {
		letter := word[i : i+1]
		switch {
		case !runFlags[letter]:
			return short + word[i:], had
		case letter == "t" && strings.HasPrefix(word[i+1:], "="):
			return short, had || word[i+1:] != "=false"
		case letter == "t":
			had = true
		case strings.HasPrefix(word[i+1:], "="):
			return short + word[i:], had
		default:
			short += letter
		}
	}
	return short, had
}

// RunImage returns the index of the image in the arguments of a docker run command.
func RunImage(args []string) (index int, ok bool) {
	_, _, _, rest, ok := splitRun(args)
	if !ok || len(rest) == 0 || strings.HasPrefix(rest[0], "-") {
		return 0, false
	}
	return len(args) - len(rest), true
}

// RunEngine returns the Engine that the arguments of a docker command select, or the zero Engine
// if they select none.
func RunEngine(args []string) (e Engine) {
	globals, _, _, _, _ := splitRun(args)
	for n := 0; n < len(globals); {
		w := min(argCount(globals[n], globalFlags), len(globals)-n)
		name, value, joined := strings.Cut(globals[n], "=")
		if short := globals[n]; !strings.HasPrefix(short, "--") && len(short) > 2 { // -Hunix:///s
			name, value, joined = short[:2], strings.TrimPrefix(short[2:], "="), true
		}
		if !joined && w == 2 {
			value = globals[n+1]
		}
		switch strings.TrimLeft(name, "-") {
		case "H", "host":
			e.Host = value
		case "c", "context":
			e.Context = value
		}
		n += w
	}
	return e
}

// RunsWithoutInput reports whether args of docker run a container without -i, so that it has no
// standard input.
func RunsWithoutInput(args []string) bool {
	_, _, options, _, ok := splitRun(args)
	for n := 0; n < len(options); n += argCount(options[n], runFlags) {
		name, value, _ := strings.Cut(options[n], "=")
		isShort := !strings.HasPrefix(name, "--")
		if name == "--interactive" && value != "false" || isShort && strings.Contains(shortFlags(name), "i") {
			return false
		}
	}
	return ok
}

// shortFlags returns the flags at the start of short options that are written together, such as "it"
// of "-ite".
func shortFlags(option string) string {
	letters := strings.TrimPrefix(option, "-")
	for i, letter := range letters {
		if !runFlags[string(letter)] {
			return letters[:i]
		}
	}
	return letters
}
