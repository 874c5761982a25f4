// Package doctor looks for what keeps clients and servers from finding each other, and
// says for each finding what to do. It only reads; whatever it starts or calls is
// given to it.
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"drawbridge/backend/clientconf"
	"drawbridge/config"
)

// Level is how bad a finding is.
type Level string

const (
	OK      Level = "ok"
	Warning Level = "warning"
	Problem Level = "problem"
)

// Finding is one thing that was looked at.
type Finding struct {
	Check   string `json:"check"` // stable: daemon, port, runtime, docker, proxy, config, client
	Subject string `json:"subject"`
	Level   Level  `json:"level"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"` // what to do, where something is wrong
}

// Options is what the doctor looks at.
type Options struct {
	Config *config.Config
	// Getenv reads the environment; LookPath finds a program as servers would.
	Getenv   func(string) string
	LookPath func(program string) (path string, err error)
	// Daemon is the running one's address; "" when none runs.
	Daemon string
	// Listening reports whether somebody listens at an address.
	Listening func(address string) bool
	// Docker asks the Docker daemon; nil means that it answers.
	Docker func(ctx context.Context) error
	// Reach makes a client's first call with its own token.
	Reach   func(ctx context.Context, client string) error
	Clients []clientconf.Status
}

// Examine looks at everything, in the order in which it is best repaired.
func Examine(ctx context.Context, o Options) []Finding {
	var all []Finding
	all = append(all, o.daemon()...)
	all = append(all, o.configuration()...)
	all = append(all, o.runtimes()...)
	all = append(all, o.docker(ctx)...)
	all = append(all, o.proxies()...)
	return append(all, o.clients(ctx)...)
}

func (o Options) daemon() []Finding {
	if o.Daemon != "" {
		return []Finding{{"daemon", o.Daemon, OK, "Drawbridge is running", ""}}
	}
	found := []Finding{{"daemon", "", Warning, "Drawbridge is not running", "Start it with: drawbridge. Clients that use the shim start it when they need it."}}
	if listen := o.Config.Bridge.Listen; o.Listening(listen) {
		found = append(found, Finding{"port", listen, Problem, "another program listens at " + listen,
			"End it, or set another port: bridge.listen in the configuration."})
	}
	return found
}

func (o Options) configuration() (all []Finding) {
	for _, p := range o.Config.Problems {
		level := Problem
		if p.Warning {
			level = Warning
		}
		all = append(all, Finding{"config", fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column), level, p.Message, cmp.Or(p.Suggestion, "Correct it: the file is read again when it is saved.")})
	}
	if len(all) == 0 {
		all = []Finding{{"config", "", OK, fmt.Sprintf("the configuration is valid: %d servers", len(o.Config.Servers)), ""}}
	}
	return all
}

// installs says how to get the programs that servers commonly need.
var installs = map[string]string{
	"npx": "Install Node.js: https://nodejs.org", "node": "Install Node.js: https://nodejs.org", "npm": "Install Node.js: https://nodejs.org",
	"uvx": "Install uv: https://docs.astral.sh/uv", "uv": "Install uv: https://docs.astral.sh/uv",
	"docker": "Install Docker: https://docs.docker.com/get-docker", "python3": "Install Python 3", "bunx": "Install Bun: https://bun.sh", "deno": "Install Deno: https://deno.com",
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
			all = append(all, Finding{"runtime", command, Problem, command + " is not found; needed by " + strings.Join(users[command], ", "),
				cmp.Or(installs[filepath.Base(command)], "Install it, or give its whole path as command.")})
		} else {
			all = append(all, Finding{"runtime", command, OK, path, ""})
		}
	}
	return all
}

func (o Options) docker(ctx context.Context) []Finding {
	if !slices.ContainsFunc(o.Config.Servers, func(s config.Server) bool { return s.Type == "docker" && !s.Disabled }) || o.Docker == nil {
		return nil
	}
	if err := o.Docker(ctx); err != nil {
		fix := "Start Docker."
		if runtime.GOOS == "linux" && strings.Contains(err.Error(), "permission") {
			fix = "Add yourself to the group docker, and log in again: sudo usermod -aG docker $USER"
		}
		return []Finding{{"docker", "", Problem, err.Error(), fix}}
	}
	return []Finding{{"docker", "", OK, "Docker answers", ""}}
}

// proxies finds proxy variables that send calls to ourselves through a proxy.
func (o Options) proxies() []Finding {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"} {
		if o.Getenv(name) == "" {
			continue
		}
		if no := o.Getenv("NO_PROXY") + "," + o.Getenv("no_proxy"); !strings.Contains(no, "127.0.0.1") && !strings.Contains(no, "*") {
			return []Finding{{"proxy", name, Warning, name + " is set: clients that connect by address may ask the proxy for 127.0.0.1",
				"Set NO_PROXY=127.0.0.1,localhost, or connect such clients without --http."}}
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
			f.Fix = "Put it back with: drawbridge clients restore " + s.Client.ID + ". If you removed it: drawbridge clients forget " + s.Client.ID
		case clientconf.Unreadable:
			if !s.Detected {
				continue
			}
			f.Level, f.Message, f.Fix = Warning, s.Path+": "+s.Problem, "Correct the file; "+s.Client.Name+" cannot read it either."
		default:
			f = o.reach(ctx, s, f)
		}
		all = append(all, f)
	}
	return all
}

func (o Options) reach(ctx context.Context, s clientconf.Status, f Finding) Finding {
	f.Message = "connected"
	if s.Choice.HTTP && o.Daemon != "" && s.Choice.URL != o.Daemon {
		if u, err := url.Parse(s.Choice.URL); err == nil {
			f.Level, f.Message, f.Fix = Problem, "its entry leads to "+u.Host, "Connect it again: drawbridge clients connect "+s.Client.ID+" --http"
			return f
		}
	}
	if o.Daemon == "" || o.Reach == nil {
		return f
	}
	if err := o.Reach(ctx, s.Client.ID); err != nil {
		f.Level, f.Message, f.Fix = Problem, "its token is not taken: "+err.Error(), "Make a new one: drawbridge token "+s.Client.ID+" --rotate"
	}
	return f
}
