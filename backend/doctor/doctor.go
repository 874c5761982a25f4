package doctor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Level is the severity of a finding.
type Level string

const (
	OK      Level = "ok"
	Warning Level = "warning"
	Problem Level = "problem"
)

// Finding is the result of one check.
type Finding struct {
	Check   string `json:"check"` // stable: daemon, port, shell, runtime, docker, proxy, config, secret, list, client
	Subject string `json:"subject"`
	Level   Level  `json:"level"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"` // how to resolve it; "" if the level is OK
	// ID identifies the finding for Fix. Action is the label of the fix; "" if only the user
	// can apply it.
	ID     string `json:"id"`
	Action string `json:"action,omitempty"`

	apply func(context.Context) error
}

// Options is the state to examine and the functions that probe and fix it.
type Options struct {
	Config *config.Config
	// Getenv reads the environment. LookPath finds a program in the PATH of the servers.
	Getenv   func(string) string
	LookPath func(program string) (path string, err error)
	// LoginShellError is the error of reading the environment from the login shell; nil if it
	// succeeded.
	LoginShellError error
	// Daemon is the base URL of the running daemon; "" if none is running.
	Daemon string
	// Listening reports whether a program listens on an address.
	Listening func(address string) bool
	// Docker checks the Docker daemon. If nil, the check is skipped.
	Docker func(ctx context.Context) error
	// Ping pings the bridge with a client's own token. If nil, the check is skipped.
	Ping    func(ctx context.Context, client string) error
	Clients []clientconf.Status
	// ToolLists compare the tool lists that clients have read with the current ones.
	ToolLists []ToolListState
	// MissingSecrets maps the secrets that servers refer to and that are not stored to those
	// servers. Locked is set if the keyring is locked, so that no secret can be read.
	MissingSecrets map[string][]string
	KeyringLocked  bool
	// VaultProblem describes a problem with the storage of secrets; "" if there is none.
	VaultProblem string

	// Functions that fix findings; nil if not available.
	Restore   func(ctx context.Context, key string) error    // restores a lost entry
	Rotate    func(ctx context.Context, client string) error // rotates the token of a client
	UpdateURL func(ctx context.Context, client string) error // updates the URL in its entry
	Unlock    func(ctx context.Context) error                // unlocks the keyring
	Restart   func(ctx context.Context, server string) error // restarts a server
	Servers   []core.ServerStatus                            // servers of the running daemon
	Withheld  map[string]int                                 // changed definitions that wait for a review, by server
}

// ToolListState compares the number of tools that a client has read with the current number.
type ToolListState struct {
	Client, Name   string
	Shown, Offered int
	Reload         string // how the client reloads the list
}

// Examine runs all checks. The findings are in the order in which to resolve them.
func Examine(ctx context.Context, o Options) []Finding {
	var all []Finding
	all = append(all, o.daemon()...)
	all = append(all, o.configuration()...)
	all = append(all, o.secrets()...)
	all = append(all, o.shell()...)
	all = append(all, o.runtimes()...)
	all = append(all, o.docker(ctx)...)
	all = append(all, o.proxies()...)
	all = append(all, o.servers()...)
	all = append(all, o.clients(ctx)...)
	all = append(all, o.toolLists()...)
	assignIDs(all)
	return all
}

var notInID = osutil.LazyRegexp(`[^A-Za-z0-9]+`)

// assignIDs sets the ID of each finding: check and subject, limited to characters that are valid
// in a URL path.
func assignIDs(all []Finding) {
	seen := map[string]int{}
	for i := range all {
		id := strings.Trim(all[i].Check+"-"+notInID().ReplaceAllString(all[i].Subject, "-"), "-")
		if seen[id]++; seen[id] > 1 {
			id += fmt.Sprintf("-%d", seen[id])
		}
		all[i].ID = id
	}
}

// Fix applies the fix of the finding with this id. It runs Examine first. The error has code
// not_found if the finding no longer exists, and rejected if only the user can resolve it.
func Fix(ctx context.Context, o Options, id string) error {
	all := Examine(ctx, o)
	at := slices.IndexFunc(all, func(f Finding) bool { return f.ID == id })
	if at < 0 {
		return &core.Error{Code: core.CodeNotFound, Message: fmt.Sprintf("there is no finding named %q", id), Hint: "It may have been resolved: run \"drawbridge doctor\" again."}
	}
	if all[at].apply == nil {
		return &core.Error{Code: core.CodeRejected, Message: fmt.Sprintf("cannot fix the finding %q automatically", id), Hint: all[at].Fix}
	}
	return all[at].apply(ctx)
}

// setAction adds an action to a finding, unless do is nil.
func setAction[T any](f *Finding, label string, do func(context.Context, T) error, what T) {
	if do != nil {
		f.Action, f.apply = label, func(ctx context.Context) error { return do(ctx, what) }
	}
}

func (o Options) daemon() []Finding {
	if o.Daemon != "" {
		return []Finding{{Check: "daemon", Subject: o.Daemon, Level: OK, Message: "Drawbridge is running"}}
	}
	found := []Finding{{Check: "daemon", Level: Warning, Message: "Drawbridge is not running", Fix: "Start it with: drawbridge. Clients that use the shim start it when they need it."}}
	if listen := o.Config.Bridge.Listen; o.Listening(listen) {
		found = append(found, Finding{Check: "port", Subject: listen, Level: Problem, Message: "another program is listening on " + listen,
			Fix: "Stop that program, or set another port in bridge.listen in the configuration."})
	}
	return found
}

func (o Options) configuration() (all []Finding) {
	for _, p := range o.Config.Problems {
		level := Problem
		if p.Warning {
			level = Warning
		}
		all = append(all, Finding{Check: "config", Subject: config.Position{File: p.File, Line: p.Line, Column: p.Column}.String(), Level: level, Message: p.Message, Fix: cmp.Or(p.Suggestion, "Correct the file; it is read again when you save it.")})
	}
	if len(all) == 0 {
		all = []Finding{{Check: "config", Level: OK, Message: "the configuration is valid: " + core.Plural(len(o.Config.Servers), "server")}}
	}
	if idle := o.Config.Idle(); idle.Reason != "" {
		all = append(all, Finding{Check: "config", Subject: "servers", Level: Warning, Message: idle.Reason, Fix: idle.Fix})
	}
	return all
}

// shell reports a login shell whose environment could not be read: servers may then lack
// programs that are only on its PATH.
func (o Options) shell() []Finding {
	if o.LoginShellError == nil {
		return nil
	}
	return []Finding{{Check: "shell", Level: Warning, Message: o.LoginShellError.Error() + "; servers get the PATH that Drawbridge was started with",
		Fix: "Check what the shell's startup files are waiting for, such as a prompt or the network, or increase loginShellTimeoutMs in globalSettings. The startup files are read again when a server is restarted."}}
}

func (o Options) runtimes() (all []Finding) {
	users := map[string][]string{}
	for _, s := range o.Config.Servers {
		if s.Type == "stdio" && !s.Disabled && !strings.Contains(s.Command, "$") {
			users[s.Command] = append(users[s.Command], s.Label)
		}
	}
	var commands []string
	for command := range users {
		commands = append(commands, command)
	}
	slices.Sort(commands)
	for _, command := range commands {
		if path, err := o.LookPath(command); err != nil {
			fix, _ := upstream.InstallAdvice(command)
			all = append(all, Finding{Check: "runtime", Subject: command, Level: Problem, Message: command + " was not found; required by " + strings.Join(users[command], ", "),
				Fix: fix})
		} else {
			all = append(all, Finding{Check: "runtime", Subject: command, Level: OK, Message: path})
		}
	}
	return all
}

func (o Options) docker(ctx context.Context) []Finding {
	if !slices.ContainsFunc(o.Config.Servers, func(s config.Server) bool { return s.Type == "docker" && !s.Disabled }) || o.Docker == nil {
		return nil
	}
	if err := o.Docker(ctx); err != nil {
		fix, _ := upstream.StartDockerAdvice(err.Error())
		return []Finding{{Check: "docker", Level: Problem, Message: err.Error(), Fix: fix}}
	}
	return []Finding{{Check: "docker", Level: OK, Message: "Docker responds"}}
}

// proxies reports proxy variables that would send calls for the bridge through a proxy.
func (o Options) proxies() []Finding {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"} {
		if o.Getenv(name) == "" {
			continue
		}
		if no := o.Getenv("NO_PROXY") + "," + o.Getenv("no_proxy"); !strings.Contains(no, "127.0.0.1") && !strings.Contains(no, "*") {
			return []Finding{{Check: "proxy", Subject: name, Level: Warning, Message: name + " is set: clients that connect by URL may send requests for 127.0.0.1 to the proxy",
				Fix: "Set NO_PROXY=127.0.0.1,localhost, or connect such clients without --http."}}
		}
	}
	return nil
}

func (o Options) clients(ctx context.Context) (all []Finding) {
	for _, s := range o.Clients {
		f := Finding{Check: "client", Subject: s.Key, Level: OK}
		switch s.State {
		case clientconf.NotConnected:
			continue
		case clientconf.Vanished, clientconf.Changed:
			f.Level, f.Message = Problem, s.Problem+": "+s.Path
			f.Fix = "Restore it with: drawbridge clients connect --restore " + s.Client.ID + ". If you removed it: drawbridge clients undo --forget " + s.Client.ID
			setAction(&f, "Restore entry", o.Restore, s.Key)
		case clientconf.Unreadable:
			if !s.Detected {
				continue
			}
			f.Level, f.Message, f.Fix = Warning, s.Path+": "+s.Problem, "Correct the file. Drawbridge does not change a file that it cannot parse."
		default:
			f = o.checkConnection(ctx, s, f)
		}
		all = append(all, f)
	}
	return all
}

func (o Options) checkConnection(ctx context.Context, s clientconf.Status, f Finding) Finding {
	f.Message = "connected"
	for _, entry := range s.Choice.Servers {
		if o.Config != nil && !o.knowsServer(core.Slug(entry.Server)) {
			gone := clientconf.NamedEntry{Client: s.Client, Path: s.Path, Project: s.Project, ServerEntry: entry}
			f.Level, f.Message, f.Fix = Problem, gone.String(), "Undo the entry with: "+gone.Undo()
			return f
		}
	}
	if s.Choice.HTTP && o.Daemon != "" && s.Choice.URL != o.Daemon {
		if u, err := url.Parse(s.Choice.URL); err == nil {
			f.Level, f.Message, f.Fix = Problem, "its entry points to "+u.Host, "Connect it again: drawbridge clients connect "+s.Client.ID+" --http"
			setAction(&f, "Update address", o.UpdateURL, s.Client.ID)
			return f
		}
	}
	if o.Daemon == "" || o.Ping == nil {
		return f
	}
	if err := o.Ping(ctx, s.Client.ID); err != nil {
		f.Level, f.Message, f.Fix = Problem, "its access token is not accepted: "+err.Error(), "Create a new one: drawbridge token "+s.Client.ID+" --rotate"
		setAction(&f, "Rotate access token", o.Rotate, s.Client.ID)
	}
	return f
}

// knowsServer reports whether there is a server with this id, even one with an invalid entry.
func (o Options) knowsServer(id string) bool {
	_, known := o.Config.Server(id)
	return known || id == clientconf.EntryName || slices.ContainsFunc(o.Config.Problems, func(p config.Problem) bool {
		return !p.Warning && (p.Server == "" || core.Slug(p.Server) == id)
	})
}

// Listening reports whether a program listens on address. It waits at most one second.
func Listening(address string) bool {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// CheckDocker returns an error unless the Docker daemon answers within five seconds. It runs
// the docker command, which supports contexts and rootless sockets.
func CheckDocker(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	name := "docker"
	if runtime.GOOS == "windows" {
		name = "docker.exe"
	}
	out, err := osutil.HideConsole(exec.CommandContext(ctx, name, "version", "--format", "{{.Server.Version}}")).CombinedOutput()
	if err != nil {
		return fmt.Errorf("Docker is not responding: %w: %s", err, strings.Join(strings.Fields(string(out)), " "))
	}
	return nil
}

// PingBridge pings the bridge at url with a client's own token, for at most five seconds. It
// returns an error if the bridge cannot be reached or rejects the token.
func PingBridge(ctx context.Context, url, token string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/mcp", bytes.NewReader([]byte(ping)))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := (&http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16))
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		return fmt.Errorf("the bridge responded with %s", resp.Status)
	}
	return nil
}

// secrets reports secrets that servers refer to and cannot read.
func (o Options) secrets() (all []Finding) {
	if o.KeyringLocked {
		f := Finding{Check: "secret", Subject: "keyring", Level: Problem, Message: o.VaultProblem, Fix: "Unlock the keyring, or use: drawbridge secret unlock"}
		if o.Unlock != nil {
			f.Action, f.apply = "Unlock", o.Unlock
		}
		return []Finding{f}
	}
	if o.VaultProblem != "" {
		all = append(all, Finding{Check: "secret", Subject: "key", Level: Warning, Message: o.VaultProblem, Fix: "Install a keyring, such as gnome-keyring, to store the key there. Keep the file out of backups that others can read."})
	}
	for _, name := range slices.Sorted(maps.Keys(o.MissingSecrets)) {
		all = append(all, Finding{Check: "secret", Subject: name, Level: Problem,
			Message: "the secret is not stored, but is needed by " + strings.Join(o.MissingSecrets[name], ", "), Fix: "Store it with: drawbridge secret set " + name})
	}
	return all
}

// serverLevels has the states that are reported. A server in another one runs, or does not because
// the user wants it so.
var serverLevels = map[core.State]Level{
	core.StateFailed: Problem, core.StateDegraded: Problem,
	core.StateWaiting: Warning, core.StateRestarting: Warning, core.StateNeedsSignIn: Warning, core.StateNeedsApproval: Warning,
}

// servers reports a pause, servers that do not work, the warnings of all servers, and withheld
// definitions. It does not report a server whose program is missing: runtimes does, and a restart
// would not help.
func (o Options) servers() (all []Finding) {
	if slices.ContainsFunc(o.Servers, func(s core.ServerStatus) bool { return s.State == core.StatePaused }) {
		all = append(all, Finding{Check: "server", Level: Warning, Message: "Paused: all servers are stopped, and calls are refused", Fix: "Resume them with: drawbridge start --all"})
	}
	for _, s := range o.Servers {
		for _, text := range s.Warnings {
			all = append(all, Finding{Check: "server", Subject: s.ID, Level: Warning, Message: text})
		}
		if n := o.Withheld[s.ID]; n > 0 {
			all = append(all, Finding{Check: "server", Subject: s.ID, Level: Warning, Message: core.Plural(n, "changed definition") + " withheld from clients", Fix: "Review: drawbridge tools --changes " + s.ID})
		}
		level := serverLevels[s.State]
		if level == "" || o.programMissing(s.ID) {
			continue
		}
		command := cmp.Or(s.Remedy.Command, "drawbridge logs "+s.ID)
		f := Finding{Check: "server", Subject: s.ID, Level: level, Message: s.State.Word() + ": " + s.Reason, Fix: cmp.Or(s.Hint, "Run: "+command)}
		if level == Problem {
			setAction(&f, "Restart", o.Restart, s.ID)
		}
		all = append(all, f)
	}
	return all
}

func (o Options) programMissing(id string) bool {
	return o.Config != nil && slices.ContainsFunc(o.Config.Servers, func(s config.Server) bool {
		if s.ID != id || s.Type != "stdio" || s.Disabled || strings.Contains(s.Command, "$") {
			return false
		}
		_, err := o.LookPath(s.Command)
		return err != nil
	})
}

// toolLists reports clients whose tool list is out of date.
func (o Options) toolLists() (all []Finding) {
	for _, l := range o.ToolLists {
		if l.Shown == l.Offered {
			continue
		}
		fix := "Restart the client, so that it reloads the tools."
		if l.Reload != "" && !strings.HasPrefix(l.Reload, "nothing") { // it needs no action after a change of its file
			fix = "To make the client reload the tools, " + strings.TrimSuffix(l.Reload, ".") + "."
		}
		all = append(all, Finding{Check: "list", Subject: l.Client, Level: Warning,
			Message: fmt.Sprintf("%s received %s, but Drawbridge now offers %d", l.Name, core.Plural(l.Shown, "tool"), l.Offered), Fix: fix})
	}
	return all
}

// readPreviousConfigFiles returns the retained former texts of the configuration, by path: the
// copies from before edits, and the files of the last valid configuration. Logs may contain secrets
// from them, even if a current file cannot be read.
func readPreviousConfigFiles(f config.Folders) map[string][]byte {
	texts := map[string][]byte{}
	copies := config.BackupsOf(f.Data)
	list, _ := copies.List() // unreadable copies are skipped
	for _, c := range list {
		path := filepath.Join(copies.Dir, c.Name)
		if src, err := osutil.ReadFile(path); err == nil {
			texts[path] = src
		}
	}
	var good struct {
		Files []struct{ Path, Text string } `json:"files"`
	}
	if src, err := osutil.ReadFile(f.LastGoodConfigFile()); err == nil && json.Unmarshal(src, &good) == nil {
		for _, one := range good.Files {
			texts["last good/"+one.Path] = []byte(one.Text)
		}
	}
	return texts
}

// Local returns what can be examined on this machine without a daemon, for servers that start with
// the environment getenv.
func Local(ctx context.Context, c *config.Config, getenv func(string) string) Options {
	path := getenv("PATH")
	login, noLogin := process.LoginEnv(ctx)
	if login["PATH"] != "" {
		path = login["PATH"]
	}
	return Options{
		Config: c, Getenv: getenv, Listening: Listening, Docker: CheckDocker, LoginShellError: noLogin,
		LookPath: func(program string) (string, error) { return process.Resolve(program, path) },
	}
}

// addSecrets adds the state of the secrets, and which of them are missing.
func (o *Options) addSecrets(ctx context.Context, vault *secret.Store) error {
	st := vault.Status(ctx)
	o.KeyringLocked, o.VaultProblem, o.Unlock = st.Locked, st.Notice, vault.Unlock
	if st.Locked {
		return nil
	}
	all, err := vault.List(ctx)
	if err != nil {
		return err
	}
	o.MissingSecrets = config.ReferencedSecrets(o.Config)
	for _, e := range all {
		delete(o.MissingSecrets, e.Name)
	}
	return nil
}
