package policy

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// maxPathBases limits the folders against which relative paths are resolved.
const maxPathBases = 64

// pathSettings are the parts of a server's configuration that decide which files the paths in its
// arguments lead to. They are compiled when the configuration is applied.
type pathSettings struct {
	local    bool // a process on this machine, with the same files
	launched bool // a program on this machine starts it, which may share files with it
	cwd      string
	homes    []string // values of HOME in its entry
	// bases are the absolute paths in its arguments and environment, which may start with
	// config.WorkspaceRoot. Many servers resolve relative paths against these, not against cwd.
	bases        []string
	basesUnknown bool // there are more, which depend on a variable that is not set here
	// relative are the other texts in them, which may be names of files or folders in cwd.
	relative []string
}

func compilePathSettings(c *config.Server) pathSettings {
	s := pathSettings{launched: c.Type == core.Stdio, cwd: c.Cwd, homes: homesInEnvironment(c)}
	if s.local = s.launched && !runsElsewhere(c.Command, c.Args); !s.local {
		return s
	}
	for _, a := range c.Args {
		s.addBases(a)
	}
	environments := []map[string]string{c.Env}
	for _, name := range slices.Sorted(maps.Keys(c.Accounts)) {
		environments = append(environments, c.Accounts[name].Env)
	}
	for _, env := range environments {
		for _, name := range slices.Sorted(maps.Keys(env)) {
			if !slices.Contains(searchPaths, name) {
				s.addBases(env[name])
			}
		}
	}
	return s
}

// searchPaths are variables that list folders in which programs are found.
var searchPaths = []string{"PATH", "Path", "PYTHONPATH", "NODE_PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "CLASSPATH"}

// addBases adds the absolute paths in text: all of it, or parts of it, as in --root=/a and /a:/b.
func (s *pathSettings) addBases(text string) {
	expanded, err := config.Expand(text, func(name string) (string, bool) {
		if name == config.WorkspaceFolder {
			return config.WorkspaceRoot, true
		}
		return os.LookupEnv(name)
	})
	if err != nil { // secrets are not read: a password is not a folder
		variable := strings.Index(text, "${")
		s.basesUnknown = s.basesUnknown || strings.Contains(text[variable:], "}/") || variable == 0 && !strings.Contains(text, "${secret:") && text[len(text)-1] == '}'
		return
	}
	s.addBase(expanded)
	parts := strings.FieldsFunc(expanded, func(c rune) bool {
		return strings.ContainsRune("=,;\"'[]()<>|& \t\n", c) || c == ':' && runtime.GOOS != "windows"
	})
	for _, part := range parts {
		if strings.HasPrefix(part, "///") { // file:///a
			part = part[2:]
		}
		if !strings.HasPrefix(part, "//") { // https://host
			s.addBase(part)
		}
	}
}

func (s *pathSettings) addBase(path string) {
	if home, err := os.UserHomeDir(); err == nil && (path == "~" || strings.HasPrefix(path, "~/")) {
		path = home + path[1:]
	}
	to := &s.bases
	if path != config.WorkspaceRoot && !strings.HasPrefix(path, config.WorkspaceRoot+"/") {
		if path = filepath.Clean(path); !filepath.IsAbs(path) {
			to = &s.relative
		}
	}
	switch {
	case len(path) > maxTestedPath || strings.ContainsRune(path, 0) || slices.Contains(*to, path):
	case len(*to) >= maxPathBases:
		s.basesUnknown = true
	default:
		*to = append(*to, path)
	}
}

// remoteLaunchers are programs that run a command in a container or on another machine.
var remoteLaunchers = []string{
	"docker", "podman", "nerdctl", "finch", "container", "docker-compose", "podman-compose", "devcontainer", "kubectl", "oc", "lxc", "incus", "machinectl",
	"limactl", "lima", "colima", "multipass", "vagrant", "distrobox", "toolbox", "apptainer", "singularity", "wsl", "ssh", "autossh", "mosh", "plink", "gcloud", "tsh", "chroot", "bwrap",
}

// commandWrappers are programs that run the command in their arguments.
var commandWrappers = []string{"env", "sudo", "doas", "nohup", "nice", "stdbuf", "timeout", "time", "exec", "command", "setsid", "systemd-run", "flatpak-spawn", "sshpass", "dotenv", "op", "sh", "bash", "dash", "zsh", "fish", "cmd", "powershell", "pwsh"}

// runsElsewhere reports whether a command runs the server in a container or on another machine.
func runsElsewhere(command string, args []string) bool {
	name := programName(command)
	if slices.Contains(remoteLaunchers, name) {
		return true
	}
	return slices.Contains(commandWrappers, name) && slices.ContainsFunc(strings.FieldsFunc(strings.Join(args, " "), func(c rune) bool {
		return strings.ContainsRune(" \t\n;&|()'\"`", c)
	}), func(word string) bool { return slices.Contains(remoteLaunchers, programName(word)) })
}

func programName(path string) string {
	name := strings.ToLower(path[strings.LastIndexAny(path, `/\`)+1:])
	for _, suffix := range []string{".exe", ".cmd", ".bat"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return name
}

// pathBase is a folder against which a server may resolve relative paths. If it is unlikely, it
// makes a condition about a path possible, but never uncertain.
type pathBase struct {
	folder   string
	unlikely bool
}

// relativeBases returns the folders against which the server may resolve relative paths. ok is
// false if there are more that are not known. If the entry sets cwd, the home folder and the
// folders of files that it names are unlikely.
func (e *evaluation) relativeBases() (bases []pathBase, ok bool) {
	if e.bases != nil {
		return e.bases, e.basesKnown
	}
	s := &e.server.paths
	add := func(folder string, unlikely bool) {
		i := slices.IndexFunc(bases, func(b pathBase) bool { return b.folder == folder })
		if i < 0 {
			bases = append(bases, pathBase{folder, unlikely})
		} else if !unlikely {
			bases[i].unlikely = false
		}
	}
	cwd, ok := s.workingFolder(e.call)
	if ok {
		add(cwd, false)
	}
	for _, root := range append([]string{e.call.Workspace}, e.call.OtherRoots...) {
		if root != "" {
			add(root, false)
		}
	}
	ok = ok && !s.basesUnknown && len(bases) < maxPathBases
	named := slices.Clone(s.bases)
	for _, name := range s.relative {
		if _, err := os.Lstat(filepath.Join(cwd, name)); err == nil && cwd != "" {
			named = append(named, filepath.Join(cwd, name))
		}
	}
	for _, base := range named {
		if rest, isWorkspace := strings.CutPrefix(base, config.WorkspaceRoot); isWorkspace {
			if e.call.Workspace == "" {
				ok = false
				continue
			}
			base = e.call.Workspace + rest
		}
		if info, err := os.Stat(base); err == nil && info.IsDir() {
			add(base, false)
			continue
		}
		add(base, s.cwd != "")
		add(filepath.Dir(base), s.cwd != "")
	}
	if s.local {
		homes, known := s.homeFolders()
		ok = ok && known
		for _, home := range homes {
			add(home, s.cwd != "")
		}
	}
	e.bases, e.basesKnown = bases, ok
	return bases, ok
}

// homeFolders returns what the server may read ~ as: the user's home folder, and HOME as its entry
// sets it. ok is false if there are more that are not known.
func (s *pathSettings) homeFolders() (folders []string, ok bool) {
	if !s.local {
		return nil, false
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, false
	}
	folders, ok = []string{home}, true
	for _, h := range s.homes {
		if !filepath.IsAbs(h) || strings.Contains(h, "$") {
			ok = false
		} else {
			folders = append(folders, h)
		}
	}
	return folders, ok
}

// homesInEnvironment returns the values that a configuration sets for the variables of the home
// folder.
func homesInEnvironment(c *config.Server) (homes []string) {
	add := func(env map[string]string) {
		for _, name := range []string{"HOME", "USERPROFILE"} {
			if home, ok := env[name]; ok {
				homes = append(homes, home)
			}
		}
	}
	add(c.Env)
	for _, account := range c.Accounts {
		add(account.Env)
	}
	return homes
}

// workingFolder returns the folder of the server's process.
func (s *pathSettings) workingFolder(call *core.Call) (string, bool) {
	switch {
	case !s.local:
		return "", false
	case s.cwd == "":
		dir, err := syscall.Getwd() // the process inherits it; os.Getwd looks up more
		return dir, err == nil
	case s.cwd == config.WorkspaceRoot && call.Workspace != "":
		return call.Workspace, true
	case strings.Contains(s.cwd, "${") || !filepath.IsAbs(s.cwd):
		return "", false
	}
	return s.cwd, true
}
