package version

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/hideconsole"
	"github.com/drawbridge-mcp/drawbridge/backend/lazyregexp"
)

// Where a resolved version is known from.
const (
	FromConfig  = "configuration" // it is pinned
	FromProcess = "process"       // of the files that the running process was started from
	FromCache   = "cache"         // the newest that the launcher has fetched; what runs may be older
	FromServer  = "server"        // as the server says of itself
	// Of images:
	FromContainer = "container" // of the container that runs
	FromImage     = "image"     // of what the name means to the Engine; the next start runs it
)

// Resolved is the version that a server runs, as far as that is known.
type Resolved struct {
	Version string `json:"version"`
	Source  string `json:"source" enum:",configuration,process,cache,server,container,image"`
}

// Where says where launchers keep what they fetch.
type Where struct {
	Home   string
	Getenv func(string) string
}

// Resolve finds out which version of spec runs, without any network. pids are the
// processes of the server, info is what it says of itself.
func Resolve(spec Spec, where Where, pids []int, info json.RawMessage) Resolved {
	if spec.Launcher == Image {
		if spec.Wanted != "" {
			return Resolved{spec.Wanted, FromConfig}
		}
		return said(info)
	}
	for _, pid := range pids {
		if v := ofProcess(spec, pid); v != "" {
			return Resolved{v, FromProcess}
		}
	}
	if spec.Pinned() {
		return Resolved{spec.Wanted, FromConfig}
	}
	if v := ofCache(spec, where); v != "" {
		return Resolved{v, FromCache}
	}
	return said(info)
}

func said(info json.RawMessage) Resolved {
	var about struct{ Version string }
	if json.Unmarshal(info, &about) != nil || about.Version == "" {
		return Resolved{}
	}
	return Resolved{about.Version[:min(len(about.Version), 100)], FromServer}
}

var (
	npxFolder = lazyregexp.New(`[^\x00]*[/\\]_npx[/\\][0-9a-f]{8,64}[/\\]`)
	uvFolder  = lazyregexp.New(`[^\x00]*[/\\](archive-v0|environments-v2)[/\\][^/\\\x00]+[/\\]`)
)

// ofProcess reads the command line of a process, where the system lets us.
func ofProcess(spec Spec, pid int) string {
	if runtime.GOOS != "linux" {
		return ""
	}
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return ""
	}
	if spec.Launcher == NPX {
		if folder := npxFolder().FindString(string(line)); folder != "" {
			return npmVersion(folder, spec.Package)
		}
		return ""
	}
	if folder := uvFolder().FindString(string(line)); folder != "" {
		return pyVersion(folder, spec.Package)
	}
	return ""
}

// npmVersion reads the version of a package that was installed in folder.
func npmVersion(folder, name string) string {
	text, err := readSome(filepath.Join(folder, "node_modules", filepath.FromSlash(name), "package.json"))
	var about struct{ Version string }
	if err != nil || json.Unmarshal(text, &about) != nil || !anyTag().MatchString(about.Version) {
		return ""
	}
	return about.Version
}

// pyVersion reads the version of a package that was installed in folder.
func pyVersion(folder, name string) string {
	name, _, _ = strings.Cut(name, "[")
	plain := strings.NewReplacer("-", "_", ".", "_").Replace(strings.ToLower(name))
	for _, pattern := range []string{"lib/python*/site-packages", "Lib/site-packages"} {
		found, _ := filepath.Glob(filepath.Join(folder, filepath.FromSlash(pattern), "*.dist-info"))
		for _, f := range found {
			base := strings.TrimSuffix(filepath.Base(f), ".dist-info")
			if of, version, ok := strings.Cut(base, "-"); ok && strings.NewReplacer("-", "_", ".", "_").Replace(strings.ToLower(of)) == plain {
				return version
			}
		}
	}
	return ""
}

// maxFolders bounds how many folders of a cache are looked into.
const maxFolders = 500

// ofCache finds the newest version that the launcher keeps.
func ofCache(spec Spec, where Where) string {
	var roots []string
	if spec.Launcher == NPX {
		roots = []string{filepath.Join(or(where.Getenv("npm_config_cache"), filepath.Join(where.Home, ".npm")), "_npx")}
		if runtime.GOOS == "windows" {
			roots = append(roots, filepath.Join(where.Getenv("LocalAppData"), "npm-cache", "_npx"))
		}
	} else {
		root := or(where.Getenv("UV_CACHE_DIR"), filepath.Join(or(where.Getenv("XDG_CACHE_HOME"), filepath.Join(where.Home, ".cache")), "uv"))
		roots = []string{filepath.Join(root, "archive-v0"), filepath.Join(root, "environments-v2")}
	}
	best, at := "", time.Time{}
	for _, root := range roots {
		entries, err := os.ReadDir(root)
		if err != nil {
			continue
		}
		for _, e := range entries[:min(len(entries), maxFolders)] {
			folder := filepath.Join(root, e.Name())
			version := ""
			if spec.Launcher == NPX {
				version = npmVersion(folder, spec.Package)
			} else {
				version = pyVersion(folder, spec.Package)
			}
			if info, err := os.Stat(folder); err == nil && version != "" && info.ModTime().After(at) {
				best, at = version, info.ModTime()
			}
		}
	}
	return best
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// readSome reads a file that should be small.
func readSome(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > 4<<20 {
		return nil, fmt.Errorf("%s is too large", path)
	}
	return os.ReadFile(path)
}

// lookLimit bounds a question to a registry.
const lookLimit = 30 * time.Second

// Latest asks the registry which version is the newest, the way the launcher would: with
// npm's own settings, or what pip knows of its index. It is called because the user asked.
func Latest(ctx context.Context, spec Spec) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	var cmd *exec.Cmd
	switch spec.Launcher {
	case NPX:
		cmd = hideconsole.HideWindow(exec.CommandContext(ctx, "npm", "view", spec.Package, "version", "--json"))
	case UVX:
		name, _, _ := strings.Cut(spec.Package, "[")
		cmd = hideconsole.HideWindow(exec.CommandContext(ctx, "uvx", "--refresh", "pip", "index", "versions", name))
	default:
		return "", fmt.Errorf("%s is asked for no version", spec.Launcher)
	}
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("cannot ask the registry with %q: %w", strings.Join(cmd.Args, " "), err)
	}
	return newest(spec.Launcher, string(out))
}

// newest reads what the tools answer.
func newest(launcher, out string) (string, error) {
	version := strings.Trim(strings.TrimSpace(out), `"`)
	if launcher == UVX { // mcp-server-time (1.2.3)
		if i, j := strings.Index(out, "("), strings.Index(out, ")"); i >= 0 && j > i {
			version = out[i+1 : j]
		}
	}
	if lines := strings.Fields(version); len(lines) > 1 {
		version = strings.Trim(lines[len(slices.Compact(lines))-1], `"],[`)
	}
	if !anyTag().MatchString(version) {
		return "", fmt.Errorf("the registry's answer holds no version")
	}
	return version, nil
}
