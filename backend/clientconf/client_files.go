package clientconf

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// System is the environment in which client files are located. Tests and the CLI's --home
// supply their own.
type System struct {
	GOOS   string
	Home   string
	Getenv func(string) string
}

// location is the path of a client's file, which may not exist yet.
type location struct {
	path   string
	exists bool
}

// locate returns the file to write for c: the one whose environment variable is set, else the
// first that exists, else the primary location. ok is false if the client has no file on this
// system.
func (s System) locate(c Client) (loc location, ok bool) {
	var primary string
	for _, cand := range c.Candidates[s.GOOS] {
		if slices.Contains([]string{"legacy", "read", "alone"}, cand.Role) || strings.Contains(cand.Path, "{NAME}") {
			continue
		}
		for _, path := range s.expand(cand.Path) {
			if cand.Role == "env" {
				return location{path, exists(path)}, true
			}
			if exists(path) {
				return location{path, true}, true
			}
			if primary == "" && cand.Role == "primary" && !strings.Contains(path, "*") {
				primary = path
			}
		}
	}
	return location{path: primary}, primary != ""
}

// furtherFile is a file that a client reads beside the one that is written.
type furtherFile struct {
	location
	alone bool // it is read in place of that one, such as by a profile
}

// readFiles returns the further files that c reads beside the one at written, if they exist: those of
// the user, or those of a project.
func (s System) readFiles(c Client, written, project string) (files []furtherFile) {
	var seen []string
	add := func(path, role string) {
		if !exists(path) {
			return
		}
		if seen == nil {
			seen = []string{realPath(written)}
		}
		if target := realPath(path); !slices.Contains(seen, target) {
			seen = append(seen, target)
			files = append(files, furtherFile{location{path, true}, role == "alone"})
		}
	}
	if project != "" {
		for _, cand := range c.Candidates["project"] {
			found, _ := fs.Glob(os.DirFS(project), cand.Path) // only a malformed pattern is an error
			for _, name := range found {
				add(filepath.Join(project, filepath.FromSlash(name)), cand.Role)
			}
		}
		return files
	}
	for _, cand := range c.Candidates[s.GOOS] {
		if cand.Role == "legacy" || cand.Role == "env" {
			continue
		}
		for _, path := range s.expand(cand.Path) {
			add(path, cand.Role)
		}
	}
	return files
}

// withFormatOf returns c for one of its files: some clients also read servers from JSON files.
func (c Client) withFormatOf(path string) Client {
	if strings.HasSuffix(path, ".json") && (c.Format == YAML || c.Format == TOML) {
		c.Format, c.ContainerKind = JSONC, ""
	}
	return c
}

// Files returns the existing files of all clients, in all places where they may be. They contain tokens.
func (s System) Files() (files []string) {
	for _, c := range Known() {
		for _, cand := range c.Candidates[s.GOOS] {
			for _, path := range s.expand(strings.ReplaceAll(cand.Path, "{NAME}", "*")) {
				if exists(path) {
					files = append(files, path)
				}
			}
		}
	}
	return files
}

// detected reports whether the client seems to be installed: its file or the directory of its
// file exists, or one of its programs is on PATH.
func (s System) detected(c Client) bool {
	for _, cand := range c.Candidates[s.GOOS] {
		for _, path := range s.expand(strings.ReplaceAll(cand.Path, "{NAME}", "*")) {
			if exists(path) {
				return true
			}
			if dir := filepath.Dir(path); !slices.Contains([]string{s.Home, s.configDir(), "/", "."}, dir) && !c.DetectFile && exists(dir) {
				return true
			}
		}
	}
	return slices.ContainsFunc(c.Binaries, func(name string) bool {
		_, err := exec.LookPath(name)
		return err == nil
	})
}

// expand replaces the tokens and wildcards of a candidate path. It returns nothing if a
// variable that the path needs is unset, and the pattern itself if a wildcard has no match.
func (s System) expand(pattern string) []string {
	paths := []string{pattern}
	if strings.Contains(pattern, "{VSCODE_USER}") {
		paths = paths[:0]
		for _, family := range []string{"Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"} {
			paths = append(paths, strings.ReplaceAll(pattern, "{VSCODE_USER}", s.appConfigDir()+"/"+family+"/User"))
		}
	}
	var found []string
	for _, path := range paths {
		path, ok := s.replaceTokens(path)
		if !ok {
			continue
		}
		path = filepath.FromSlash(path)
		if !strings.Contains(path, "*") {
			found = append(found, path)
			continue
		}
		matches, err := filepath.Glob(path)
		if err != nil || len(matches) == 0 {
			matches = []string{path}
		}
		found = append(found, matches...)
	}
	return found
}

func (s System) replaceTokens(path string) (string, bool) {
	for {
		start := strings.IndexByte(path, '{')
		if start < 0 {
			return path, true
		}
		length := strings.IndexByte(path[start:], '}')
		if length < 0 {
			return "", false
		}
		value := s.tokenValue(path[start+1 : start+length])
		if value == "" {
			return "", false
		}
		path = path[:start] + filepath.ToSlash(value) + path[start+length+1:]
	}
}

func (s System) tokenValue(name string) string {
	switch name {
	case "HOME":
		return s.Home
	case "XDG_CONFIG_HOME":
		return s.configDir()
	case "XDG_STATE_HOME":
		return s.envOr("XDG_STATE_HOME", filepath.Join(s.Home, ".local", "state"))
	case "XDG_DATA_HOME":
		return s.envOr("XDG_DATA_HOME", filepath.Join(s.Home, ".local", "share"))
	case "APPSUPPORT":
		return filepath.Join(s.Home, "Library", "Application Support")
	case "APPDATA":
		return s.envOr("APPDATA", filepath.Join(s.Home, "AppData", "Roaming"))
	case "LOCALAPPDATA":
		return s.envOr("LOCALAPPDATA", filepath.Join(s.Home, "AppData", "Local"))
	}
	if name, ok := strings.CutPrefix(name, "env:"); ok {
		return s.Getenv(name)
	}
	return ""
}

func (s System) configDir() string {
	return s.envOr("XDG_CONFIG_HOME", filepath.Join(s.Home, ".config"))
}

// appConfigDir returns the directory in which desktop programs of this system keep their
// settings.
func (s System) appConfigDir() string {
	switch s.GOOS {
	case "darwin":
		return filepath.ToSlash(s.tokenValue("APPSUPPORT"))
	case "windows":
		return filepath.ToSlash(s.tokenValue("APPDATA"))
	}
	return filepath.ToSlash(s.configDir())
}

func (s System) envOr(name, otherwise string) string {
	if v := s.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// resolveTarget resolves symbolic links to the file that is written, so that a dotfile manager's
// link remains a link. A path that does not exist is its own target.
func resolveTarget(path string) (string, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err == nil {
		return resolved, nil
	}
	if !isNotExist(err) {
		return "", err
	}
	if link, err := os.Readlink(path); err == nil { // a dangling link: write the file that it points to
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(path), link)
		}
		return link, nil
	}
	return path, nil
}

// isNotExist reports whether no file has the path. Windows has another error for a pattern without a match.
func isNotExist(err error) bool {
	const invalidName = syscall.Errno(123) // ERROR_INVALID_NAME
	return errors.Is(err, fs.ErrNotExist) || runtime.GOOS == "windows" && errors.Is(err, invalidName)
}
