package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// The Engine cannot end what "docker exec" started, so a program that ignores the end of its input
// would stay in the container after each restart. An entry with such a command therefore becomes a
// docker server, which stops its processes itself.

// dockerOption is what an option of "docker" or "docker exec" means for a docker server.
type dockerOption struct {
	takesValue bool
	apply      func(x *execCommand, value string) (ok bool)
}

// execCommand collects the settings of a docker server.
type execCommand struct {
	docker  Docker
	env     map[string]string // of the server
	own     map[string]string // of the docker command
	envFile func(path string) bool
}

func ignored(*execCommand, string) bool { return true }

func setOption(field func(d *Docker) *string) dockerOption {
	return dockerOption{true, func(x *execCommand, value string) bool {
		*field(&x.docker) = value
		return true
	}}
}

var (
	dockerHost    = setOption(func(d *Docker) *string { return &d.Host })
	dockerContext = setOption(func(d *Docker) *string { return &d.Context })
	dockerGlobals = map[string]dockerOption{
		"H": dockerHost, "host": dockerHost, "c": dockerContext, "context": dockerContext, "D": {apply: ignored}, "debug": {apply: ignored}, "l": {true, ignored}, "log-level": {true, ignored},
	}
	execUser    = setOption(func(d *Docker) *string { return &d.User })
	execWorkdir = setOption(func(d *Docker) *string { return &d.Workdir })
	execEnv     = dockerOption{true, func(x *execCommand, value string) bool {
		x.setEnv(value)
		return true
	}}
	execOptions = map[string]dockerOption{
		"i": {apply: ignored}, "interactive": {apply: ignored}, "t": {apply: ignored}, "tty": {apply: ignored}, "detach-keys": {true, ignored},
		"u": execUser, "user": execUser, "w": execWorkdir, "workdir": execWorkdir, "e": execEnv, "env": execEnv,
		"env-file": {true, func(x *execCommand, path string) bool { return x.envFile(path) }},
	}
)

// setEnv adds NAME=VALUE, or NAME with its value in the environment of the docker command.
func (x *execCommand) setEnv(assignment string) {
	name, value, set := strings.Cut(assignment, "=")
	if !set {
		if value, set = x.own[name]; !set {
			value = "${" + name + ":-}"
		}
	}
	x.env[name] = value
}

// programName returns the name of a program without its folder and extension.
func programName(command string) string {
	name := command[strings.LastIndexAny(command, `/\`)+1:]
	return strings.TrimSuffix(strings.ToLower(name), ".exe")
}

// dockerExec converts an entry whose command is "docker exec" to a docker server, and warns about
// commands that may leave processes behind.
func (r *reader) dockerExec(e *entry, m member) {
	left := func(what string) {
		r.report(r.keyAt(e, m, "command"), "command", true, "",
			"%s%s starts a program that Drawbridge cannot stop: if it ignores the end of its input, it stays after each restart", what, r.inServer())
	}
	switch program := programName(e.Command); {
	case program == "kubectl" && slices.Contains(e.Args, "exec"), program == "podman" && slices.Contains(e.Args, "exec"),
		program == "docker-compose" && slices.Contains(e.Args, "exec"), program == "nerdctl" && slices.Contains(e.Args, "exec"):
		left("'" + program + " exec'")
		return
	case program == "ssh":
		left("'ssh'")
		return
	case program != "docker" || !slices.Contains(e.Args, "exec"):
		return
	}
	x := execCommand{env: map[string]string{}, own: e.Env, docker: Docker{Host: e.Env["DOCKER_HOST"], Context: e.Env["DOCKER_CONTEXT"]}}
	x.envFile = func(path string) bool { return x.readEnvFile(path, e.Cwd) }
	args, known := x.options(e.Args, dockerGlobals)
	if len(args) > 0 && args[0] == "container" {
		args = args[1:]
	}
	switch {
	case len(args) > 1 && args[0] == "compose":
		left("'docker compose exec'")
		return
	case known && (len(args) == 0 || args[0] != "exec"):
		return // such as docker run image exec
	}
	ok := false
	if known {
		args, ok = x.options(args[1:], execOptions)
	}
	if !ok || len(args) < 2 || e.Env["DOCKER_TLS_VERIFY"] != "" || e.Env["DOCKER_CONFIG"] != "" {
		left("'docker exec' with these options")
		return
	}
	x.docker.Container = args[0]
	e.Type, e.Docker, e.Command, e.Args, e.Env, e.InheritEnv, e.Cwd = core.Docker, x.docker, args[1], args[2:], x.env, nil, ""
}

// options applies the options at the beginning of args and returns the rest. ok is false if one is
// unknown.
func (x *execCommand) options(args []string, known map[string]dockerOption) (rest []string, ok bool) {
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		word := args[0]
		args = args[1:]
		if word == "--" {
			return args, true
		}
		if long, isLong := strings.CutPrefix(word, "--"); isLong {
			name, value, joined := strings.Cut(long, "=")
			option, found := known[name]
			if option.takesValue && !joined && len(args) > 0 {
				value, args = args[0], args[1:]
			}
			if !found || !option.apply(x, value) {
				return args, false
			}
			continue
		}
		for letters := word[1:]; letters != ""; {
			option, found := known[letters[:1]]
			value := strings.TrimPrefix(letters[1:], "=")
			letters = letters[1:]
			if strings.HasPrefix(letters, "=") {
				letters = "" // -i=true
			}
			if option.takesValue {
				if letters = ""; value == "" && len(args) > 0 {
					value, args = args[0], args[1:]
				}
			}
			if !found || !option.apply(x, value) {
				return args, false
			}
		}
	}
	return args, true
}

// maxEnvFile bounds a file of environment variables in bytes.
const maxEnvFile = 1 << 20

// readEnvFile adds the variables of a file as the docker command reads it: one a line, without
// quotes or references.
func (x *execCommand) readEnvFile(path, cwd string) bool {
	if strings.Contains(path, "${") {
		return false
	}
	if !filepath.IsAbs(path) {
		if path = filepath.Join(cwd, path); !filepath.IsAbs(path) {
			return false
		}
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxEnvFile {
		return false
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	for line := range strings.Lines(strings.TrimPrefix(string(src), "\ufeff")) {
		line = strings.TrimLeft(strings.TrimRight(line, "\r\n"), " \t")
		if line == "" || line[0] == '#' {
			continue
		}
		if name, value, set := strings.Cut(line, "="); set {
			line = name + "=" + strings.ReplaceAll(value, "${", "$${")
		}
		x.setEnv(line)
	}
	return true
}
