package config

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// Docker configures where a "docker" server runs. Exactly one of Container, Label, Service and
// Image is set. With Image, the server is the main process of a new container; otherwise Command
// and Args are executed in an existing container.
//
// Its JSON is part of the keys of stored approvals, so that new fields must be omitted while
// they are empty.
type Docker struct {
	Container string `key:"container,container"`           // name or id
	Label     string `key:"label"`                         // "key=value": the container with this label
	User      string `key:"user"`                          // "" means the default of the container
	Workdir   string `key:"workdir"`                       // "" means the default of the container
	Service   string `json:",omitempty" key:"service"`     // of compose
	Project   string `json:",omitempty" key:"project"`     // of compose; "" is any
	Image     string `json:",omitempty" key:"image,image"` // a container is created from it and removed with its server

	Host    string `json:",omitempty" key:"host"`    // which Engine: "unix:///..." or "tcp://..."; "" is the one that the docker command uses
	Context string `json:",omitempty" key:"context"` // which Engine, by the name of a docker context
	Start   bool   `json:",omitempty" key:"start"`   // whether to start a stopped container

	// These apply to Image only.
	Mounts  []string `json:",omitempty" key:"mounts"`        // "/here:/there", "volume:/there", either with ":ro"
	Network string   `json:",omitempty" key:"network"`       // "" is the Engine's default
	Memory  string   `json:",omitempty" key:"memory,memory"` // "512m"; "" is no limit
	CPUs    string   `json:",omitempty"`                     // "1.5"; "" is no limit
	NoInit  bool     `json:",omitempty" key:"init,not"`      // without an init process that reaps zombies
	Pull    string   `json:",omitempty" key:"pull"`          // PullMissing, PullNever or, as PullMissing, ""
}

// When an image is pulled from its registry.
const (
	PullMissing = "missing"
	PullNever   = "never"
)

// named lists which of the four fields that select the container are set.
func (d Docker) named() (ways []string) {
	for _, way := range []struct{ key, value string }{
		{"container", d.Container}, {"label", d.Label}, {"service", d.Service}, {"image", d.Image},
	} {
		if way.value != "" {
			ways = append(ways, way.key)
		}
	}
	return ways
}

// dockerFields are the keys of the section "docker".
func dockerFields(d *Docker) []field {
	cpus := number("cpus", 0, schemaTree().Defs["server"].Properties["docker"].Properties["cpus"].Maximum, func(text string, _ float64) { d.CPUs = text })
	return schemaTree().Defs["server"].Properties["docker"].fields(d, cpus)
}

// nameMatching validates a name that the Engine would refuse, or read as something else. A name with
// variables is validated when it is used.
func nameMatching(pattern, allowed string) func(string) string {
	return func(s string) string {
		if strings.Contains(s, "${") || regexp.MustCompile(pattern).MatchString(s) {
			return ""
		}
		return "must consist of " + allowed + ", and begin with a letter or a digit"
	}
}

// docker validates the container settings of a docker server.
func (r *reader) docker(e *entry, m member) {
	d := &e.Docker
	section := m.value.get("docker")
	at := func(key string) Position {
		if section != nil {
			if n := section.get(key); n != nil {
				return n.at
			}
		}
		return m.at
	}
	switch ways := d.named(); {
	case len(ways) > 1:
		r.report(m.at, "docker", false, "keep one of them", "both '%s' and '%s' in docker server '%s'", ways[0], ways[1], e.Label)
	case d.Project != "" && d.Service == "":
		r.report(at("project"), "docker.project", false, "set 'service' as well", "'project' without 'service' in docker server '%s'", e.Label)
	}
	if d.Host != "" && d.Context != "" {
		r.report(at("context"), "docker.context", false, "keep one of them", "both 'host' and 'context' in docker server '%s'", e.Label)
	}
	for _, mount := range d.Mounts {
		if complaint := validateMount(mount); complaint != "" {
			r.errorf(at("mounts"), "docker.mounts", "'mounts' in server '%s' %s", e.Label, complaint)
		}
	}
	if d.Image != "" {
		if d.Start {
			r.report(at("start"), "docker.start", true, "remove it", "'start' has no effect with 'image' in docker server '%s': its container is always created and started", e.Label)
		}
		return
	}
	for _, key := range []string{"mounts", "network", "memory", "cpus", "init", "pull"} {
		if section != nil && section.get(key) != nil {
			r.report(at(key), "docker."+key, true, "remove it, or create the container from an 'image'", "'%s' has no effect in docker server '%s', because it uses an existing container", key, e.Label)
		}
	}
	d.Mounts, d.Network, d.Memory, d.CPUs, d.NoInit, d.Pull = nil, "", "", "", false, ""
}

// validateMount returns what is wrong with a mount, or "". Parts with variables are validated when
// they are used.
func validateMount(mount string) string {
	if strings.Contains(mount, "${") {
		return ""
	}
	_, _, _, ok := SplitMount(mount)
	if !ok {
		return `must contain entries such as "/folder/here:/folder/inside" or "volume:/folder/inside:ro"`
	}
	return ""
}

// SplitMount splits "/here:/there:ro" into its parts. A source that is not a path is a volume. The
// colon of a Windows drive is part of its path.
func SplitMount(mount string) (source, target string, readOnly, ok bool) {
	rest, readOnly := strings.CutSuffix(mount, ":ro")
	if !readOnly {
		rest = strings.TrimSuffix(rest, ":rw")
	}
	i := strings.LastIndex(rest, ":")
	if i <= 0 {
		return "", "", false, false
	}
	source, target = rest[:i], rest[i+1:]
	if !strings.HasPrefix(target, "/") || strings.Contains(source, ":") && !hasDriveLetter(source) || strings.Contains(mount, "\x00") {
		return "", "", false, false
	}
	return source, target, readOnly, true
}

func hasDriveLetter(path string) bool {
	return len(path) > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/') && !strings.Contains(path[2:], ":")
}

func validateMemorySize(s string) string {
	if _, ok := ParseSize(s); !ok {
		return `must be a size such as "512m" or "2g"`
	}
	return ""
}

// ParseSize reads a size as the docker command does: a number with b, k, m, g or t.
func ParseSize(s string) (int64, bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	s = strings.TrimSuffix(strings.TrimSuffix(s, "b"), "i")
	shift := 0
	if n := len(s); n > 0 {
		if i := strings.IndexByte("kmgt", s[n-1]); i >= 0 {
			shift, s = 10*(i+1), s[:n-1]
		}
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil || v <= 0 || v > 1<<62>>shift {
		return 0, false
	}
	return v << shift, true
}

// Where describes the selected container for the user.
func (d Docker) Where() string {
	switch {
	case d.Container != "":
		return d.Container
	case d.Label != "":
		return "label " + d.Label
	case d.Service != "" && d.Project != "":
		return "service " + d.Project + "/" + d.Service
	case d.Service != "":
		return "service " + d.Service
	}
	return "image " + d.Image
}

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

// wrappers start the program in their arguments.
var wrappers = []string{"sh", "bash", "dash", "ash", "zsh", "ksh", "fish", "busybox", "env", "sudo", "doas", "su", "nice", "ionice", "nohup", "time", "timeout", "stdbuf", "setsid", "script", "flatpak-spawn", "cmd", "powershell", "pwsh", "wsl"}

// execIn returns what a command runs in a container or on another machine, where Drawbridge cannot stop it; ""
// if nothing.
func execIn(program string, args []string) string {
	switch {
	case slices.Contains([]string{"kubectl", "podman", "docker-compose", "nerdctl"}, program) && slices.Contains(args, "exec"):
		return "'" + program + " exec'"
	case program == "ssh":
		return "'ssh'"
	case program != "docker" || !slices.Contains(args, "exec"):
		return ""
	}
	args, known := (&execCommand{}).options(args, dockerGlobals)
	if len(args) > 0 && args[0] == "container" {
		args = args[1:]
	}
	switch {
	case len(args) > 1 && args[0] == "compose":
		return "'docker compose exec'"
	case known && (len(args) == 0 || args[0] != "exec"):
		return "" // such as docker run image exec
	}
	return "'docker exec'"
}

// dockerExec converts an entry whose command is "docker exec" to a docker server, and warns about
// commands that may leave processes behind.
func (r *reader) dockerExec(e *entry, m member) {
	left := func(what string) {
		r.report(r.keyAt(e, m, "command"), "command", true, "",
			"%s%s starts a program that Drawbridge cannot stop: if it ignores the end of its input, it stays after each restart", what, r.inServer())
	}
	command, args, own := e.Command, e.Args, e.Env
	if programName(command) == "env" {
		own = maps.Clone(own)
		for len(args) > 1 && !strings.HasPrefix(args[0], "-") && strings.Contains(args[0], "=") {
			if own == nil {
				own = map[string]string{}
			}
			name, value, _ := strings.Cut(args[0], "=")
			own[name], args = value, args[1:]
		}
		if len(args) > 0 && len(args) < len(e.Args) {
			command, args = args[0], args[1:]
		}
	}
	program := programName(command)
	if what := execIn(program, args); program != "docker" || what != "'docker exec'" {
		words := strings.FieldsFunc(strings.Join(args, " "), func(c rune) bool { return strings.ContainsRune(" \t\n\"'`;&|(){}$", c) })
		for i := 0; slices.Contains(wrappers, program) && what == "" && i < len(words); i++ {
			what = execIn(programName(words[i]), words[i+1:])
		}
		if what != "" {
			left(what)
		}
		return
	}
	x := execCommand{env: map[string]string{}, own: own, docker: Docker{Host: own["DOCKER_HOST"], Context: own["DOCKER_CONTEXT"]}}
	x.envFile = func(path string) bool { return x.readEnvFile(path, e.Cwd) }
	args, known := x.options(args, dockerGlobals)
	if len(args) > 0 && args[0] == "container" {
		args = args[1:]
	}
	ok := false
	if known {
		args, ok = x.options(args[1:], execOptions)
	}
	if !ok || len(args) < 2 || own["DOCKER_TLS_VERIFY"] != "" || own["DOCKER_CONFIG"] != "" {
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
	src, err := osutil.ReadFile(path)
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
