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
	// named are the parts of its arguments and environment that may be names of files or folders, in
	// cwd or absolute; they may start with config.WorkspaceRoot. Many servers resolve relative paths
	// against these, not against cwd.
	named        []string
	namedUnknown bool // there are more, which depend on a variable that is not set here
}

func compilePathSettings(c *config.Server) pathSettings {
	s := pathSettings{launched: c.Type == core.Stdio, cwd: c.Cwd}
	s.local = s.launched && !runsElsewhere(c.Command, c.Args)
	if !s.local {
		return s
	}
	for _, a := range c.Args {
		s.addNames(a)
	}
	environments := []map[string]string{c.Env}
	for _, name := range slices.Sorted(maps.Keys(c.Accounts)) {
		environments = append(environments, c.Accounts[name].Env)
	}
	for _, env := range environments {
		for _, name := range slices.Sorted(maps.Keys(env)) {
			if name == "HOME" || name == "USERPROFILE" {
				s.homes = append(s.homes, env[name])
			}
			if !slices.Contains(searchPaths, name) {
				s.addNames(env[name])
			}
		}
	}
	return s
}

// searchPaths are variables that list folders in which programs are found.
var searchPaths = []string{"PATH", "Path", "PYTHONPATH", "NODE_PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "CLASSPATH"}

// addNames adds the possible names in text: all of it, and parts of it, as in --root=/a and /a:/b.
func (s *pathSettings) addNames(text string) {
	expanded, err := config.Expand(text, func(name string) (string, bool) {
		if name == config.WorkspaceFolder {
			return config.WorkspaceRoot, true
		}
		return os.LookupEnv(name)
	})
	if err != nil { // secrets are not read: a password is not a folder
		variable := strings.Index(text, "${")
		s.namedUnknown = s.namedUnknown || strings.Contains(text[variable:], "}/") || variable == 0 && !strings.Contains(text, "${secret:") && text[len(text)-1] == '}'
		return
	}
	parts := strings.FieldsFunc(expanded, func(c rune) bool {
		return strings.ContainsRune("=,;\"'[]()<>|& \t\n", c) || c == ':' && runtime.GOOS != "windows"
	})
	for _, name := range append(parts, expanded) {
		if strings.HasPrefix(name, "///") { // file:///a
			name = name[2:]
		}
		name = expandHome(name)
		switch {
		case name == "" || strings.HasPrefix(name, "//") || len(name) > maxTestedPath || strings.ContainsRune(name, 0) || slices.Contains(s.named, name): // https://host
		case len(s.named) >= maxPathBases:
			s.namedUnknown = true
		default:
			s.named = append(s.named, name)
		}
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
	ok = ok && !s.namedUnknown && len(bases) < maxPathBases
	for _, name := range s.named {
		path, known := e.folder(name)
		if inWorkspace := strings.HasPrefix(name, config.WorkspaceRoot); !known && inWorkspace {
			ok = false
			continue
		} else if !known {
			path = filepath.Join(cwd, name)
		}
		info := e.stat(path)
		if info != nil && info.IsDir() {
			add(path, false)
		} else if known || info != nil {
			add(path, s.cwd != "")
			add(filepath.Dir(path), s.cwd != "")
		}
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

// folders returns the absolute paths that a server on this machine was given: in its entry, and as the roots of the
// client.
func (s *pathSettings) folders(call *core.Call) (list []string) {
	if !s.local {
		return nil
	}
	for _, name := range append(append(slices.Clone(s.named), call.Workspace), call.OtherRoots...) {
		if rest, ok := strings.CutPrefix(name, config.WorkspaceRoot); ok && call.Workspace != "" {
			name = call.Workspace + rest
		}
		if filepath.IsAbs(name) {
			list = append(list, name)
		}
	}
	return list
}

// homeFolders returns what the server may read ~ as: the user's home folder, and HOME as its entry
// sets it. ok is false if there are more that are not known.
func (s *pathSettings) homeFolders() (folders []string, ok bool) {
	home, err := os.UserHomeDir()
	if !s.local || err != nil {
		return nil, false
	}
	folders = append(folders, home)
	for _, h := range s.homes {
		if !filepath.IsAbs(h) || strings.Contains(h, "$") {
			return folders, false
		}
		folders = append(folders, h)
	}
	return folders, true
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
	}
	return s.cwd, filepath.IsAbs(s.cwd) && !strings.Contains(s.cwd, "${")
}
