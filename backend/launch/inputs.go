package launch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/process"
)

// maxSettings is the number of bytes that are read of a settings file.
const maxSettings = 1 << 20

// environ is an environment as a map. The names of Windows have no case.
type environ map[string]string

func environOf(list []string) environ {
	e := environ{}
	for _, kv := range list {
		if name, value, ok := strings.Cut(kv, "="); ok && name != "" {
			e[nameIn(name)] = value
		}
	}
	return e
}

func nameIn(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

func (e environ) get(name string) string { return e[nameIn(name)] }

// decides reports whether a variable can change what npx does, or what it adds to the environment.
func decides(name string) bool {
	name = strings.ToUpper(name)
	for _, prefix := range []string{"NPM_", "NODE", "XDG_CONFIG", "XDG_CACHE", "XDG_DATA", "VOLTA", "NVM_", "FNM_", "ASDF_", "MISE_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	switch name {
	case "PATH", "HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PREFIX", "EDITOR", "VISUAL", "SHELL", "COMSPEC", "COLOR", "NO_COLOR", "FORCE_COLOR", "CI", "INIT_CWD",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "PROXY", "PATHEXT":
		return true
	}
	return false
}

// keyOf returns a hash of what the user and the environment say about a start.
func keyOf(spec process.Spec) string {
	env := slices.DeleteFunc(slices.Clone(spec.Env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return !decides(name)
	})
	slices.Sort(env)
	text, _ := json.Marshal([]any{spec.Path, spec.Args, spec.Dir, env})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// stateOf describes a file by its content, or by its size and times if it is large.
func stateOf(path string) string {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "absent"
	case info.IsDir():
		return "folder"
	case !info.Mode().IsRegular() || info.Size() > maxSettings:
		inode, changed := identity(info)
		return fmt.Sprint(info.Size(), info.ModTime().UnixNano(), inode, changed)
	}
	f, err := os.Open(path)
	if err != nil {
		return "unreadable"
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(f, maxSettings+1)); err != nil {
		return "unreadable"
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// inputs returns the files whose state decides what npx does in a start, besides the folder in its cache:
// npx prefers programs of the project and global ones to those of its cache, and npm reads settings.
func inputs(l *learned, dir string, set environ) []string {
	list := []string{l.Node, set.get("npm_execpath"), set.get("npm_config_userconfig"), set.get("npm_config_globalconfig")}
	if npm := set.get("npm_execpath"); npm != "" {
		list = append(list, filepath.Join(filepath.Dir(filepath.Dir(npm)), "package.json"), filepath.Join(filepath.Dir(filepath.Dir(npm)), "npmrc"))
	}
	programs, packages := map[string]bool{filepath.Base(l.Script): true}, l.names()
	for _, name := range packages {
		programs[filepath.Base(name)] = true
	}
	installedIn := func(modules, bin string) {
		for name := range programs {
			list = append(list, filepath.Join(bin, name))
		}
		for _, name := range packages {
			list = append(list, filepath.Join(modules, filepath.FromSlash(name), "package.json"))
		}
	}
	for at := dir; ; at = filepath.Dir(at) {
		modules := filepath.Join(at, "node_modules")
		list = append(list, modules, filepath.Join(at, "package.json"), filepath.Join(at, ".npmrc"))
		installedIn(modules, filepath.Join(modules, ".bin"))
		if at == filepath.Dir(at) {
			break
		}
	}
	if prefix := set.get("npm_config_global_prefix"); runtime.GOOS == "windows" {
		installedIn(filepath.Join(prefix, "node_modules"), prefix)
	} else {
		installedIn(filepath.Join(prefix, "lib", "node_modules"), filepath.Join(prefix, "bin"))
	}
	list = slices.DeleteFunc(list, func(path string) bool { return !filepath.IsAbs(path) })
	slices.Sort(list)
	return slices.Compact(list)
}

// statesOf returns the states of files.
func statesOf(paths []string) map[string]string {
	states := make(map[string]string, len(paths))
	for _, path := range paths {
		states[path] = stateOf(path)
	}
	return states
}

// changedInput returns the first file whose state is another one, or "".
func changedInput(states map[string]string) string {
	for path, was := range states {
		if stateOf(path) != was {
			return path
		}
	}
	return ""
}
