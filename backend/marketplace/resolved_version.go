package marketplace

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Sources of a resolved version.
const (
	FromConfig  = "configuration" // pinned in the configuration
	FromProcess = "process"       // files that the running process was started from
	FromCache   = "cache"         // newest version in the launcher's cache; an older one may be running
	FromServer  = "server"        // reported by the server
	// Of images:
	FromContainer = "container" // image of the running container
	FromImage     = "image"     // image that the name currently refers to; the next start runs it
)

// Resolved is the version that a server runs, as far as known.
type Resolved struct {
	Version string `json:"version"`
	Source  string `json:"source" enum:",configuration,process,cache,server,container,image"`
}

// Environment is the environment that determines the caches of launchers.
type Environment struct {
	Home   string
	Getenv func(string) string
}

// Resolve determines which version of spec runs, without network access. pids are the
// processes of the server, info is its serverInfo.
func Resolve(spec Spec, where Environment, pids []int, info json.RawMessage) Resolved {
	if spec.Launcher == Image {
		if spec.Wanted != "" {
			return Resolved{spec.Wanted, FromConfig}
		}
		return fromServerInfo(info)
	}
	for _, pid := range pids {
		if v := fromProcess(spec, pid); v != "" {
			return Resolved{v, FromProcess}
		}
	}
	if spec.Pinned() {
		return Resolved{spec.Wanted, FromConfig}
	}
	if v := fromCache(spec, where); v != "" {
		return Resolved{v, FromCache}
	}
	return fromServerInfo(info)
}

// Cached reports whether the launcher of spec has its package in a cache, and if it is pinned, as the last one
// of the wanted version.
func Cached(spec Spec, where Environment) bool {
	if spec.Launcher == Image {
		return false
	}
	version := fromCache(spec, where)
	return version != "" && (!spec.Pinned() || version == spec.Wanted)
}

func fromServerInfo(info json.RawMessage) Resolved {
	var about struct{ Version string }
	if json.Unmarshal(info, &about) != nil || about.Version == "" {
		return Resolved{}
	}
	return Resolved{about.Version[:min(len(about.Version), 100)], FromServer}
}

var (
	npxFolder = osutil.LazyRegexp(`[^\x00]*[/\\]_npx[/\\][0-9a-f]{8,64}[/\\]`)
	uvFolder  = osutil.LazyRegexp(`[^\x00]*[/\\](archive-v0|environments-v2)[/\\][^/\\\x00]+[/\\]`)
)

// fromProcess determines the version from the command line of a process. It is implemented for
// Linux only.
func fromProcess(spec Spec, pid int) string {
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

func npmVersion(folder, name string) string {
	text, err := readSmallFile(filepath.Join(folder, "node_modules", filepath.FromSlash(name), "package.json"))
	var about struct{ Version string }
	if err != nil || json.Unmarshal(text, &about) != nil || !versionTag().MatchString(about.Version) {
		return ""
	}
	return about.Version
}

// pyVersion returns the version of a Python package that is installed in folder.
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

// maxFolders is the maximum number of cache folders to inspect.
const maxFolders = 500

// fromCache returns the most recently fetched version in the launcher's cache.
func fromCache(spec Spec, where Environment) string {
	var roots []string
	if spec.Launcher == NPX {
		roots = []string{filepath.Join(cmp.Or(where.Getenv("npm_config_cache"), filepath.Join(where.Home, ".npm")), "_npx")}
		if runtime.GOOS == "windows" {
			roots = append(roots, filepath.Join(where.Getenv("LocalAppData"), "npm-cache", "_npx"))
		}
	} else {
		root := cmp.Or(where.Getenv("UV_CACHE_DIR"), filepath.Join(cmp.Or(where.Getenv("XDG_CACHE_HOME"), filepath.Join(where.Home, ".cache")), "uv"))
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

// readSmallFile reads a file of at most 4 MiB.
func readSmallFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > 4<<20 {
		return nil, fmt.Errorf("%s is too large", path)
	}
	return osutil.ReadFile(path)
}

const registryTimeout = 30 * time.Second

// Latest returns the newest version in the registry. It runs npm or pip, so that their
// settings apply. Call it only when the user asks for updates.
func Latest(ctx context.Context, s *config.Server, spec Spec) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, registryTimeout)
	defer cancel()
	var cmd *exec.Cmd
	switch spec.Launcher {
	case NPX:
		cmd = osutil.HideConsole(exec.CommandContext(ctx, "npm", "view", spec.Package, "version", "--json"))
	case UVX:
		name, _, _ := strings.Cut(spec.Package, "[")
		cmd = osutil.HideConsole(exec.CommandContext(ctx, "uvx", "--refresh", "pip", "index", "versions", name))
	default:
		return "", fmt.Errorf("cannot look up the newest version for servers that are started with %s", spec.Launcher)
	}
	cmd.Env = append(os.Environ(), registryEnv(s)...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if ctx.Err() != nil {
		err = fmt.Errorf("no response within %v", registryTimeout)
	}
	if err != nil {
		return "", fmt.Errorf("cannot query the registry with %q: %w", strings.Join(cmd.Args, " "), withOutput(err, out))
	}
	return parseLatest(spec.Launcher, string(out))
}

// withOutput returns the error of npm or pip with the reason that it has printed.
func withOutput(err error, out []byte) error {
	var said struct{ Error struct{ Summary string } } // of npm with --json
	reason := ""
	if json.Unmarshal(out, &said) == nil {
		reason = said.Error.Summary
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && reason == "" {
		lines := strings.Split(strings.TrimSpace(string(exit.Stderr)), "\n")
		reason = lines[len(lines)-1]
		for _, line := range lines {
			if text := strings.ToLower(line); strings.Contains(text, "error") && !strings.Contains(text, "error code") {
				reason = line
				break
			}
		}
	}
	if reason = strings.Join(strings.Fields(reason), " "); reason == "" {
		return err
	}
	return fmt.Errorf("%w: %.300s", err, reason)
}

// registryEnv returns the environment variables of a server's entry that choose the registry of npm
// or uv, without those that contain references to other values.
func registryEnv(s *config.Server) (list []string) {
	for name, value := range s.Env {
		key := strings.ToLower(name)
		npm := strings.HasPrefix(key, "npm_config_") && strings.HasSuffix(key, "registry")
		python := (strings.HasPrefix(key, "uv_") || strings.HasPrefix(key, "pip_")) && strings.Contains(key, "index")
		if (npm || python) && !strings.Contains(value, "${") {
			list = append(list, name+"="+value)
		}
	}
	return list
}

// parseLatest parses the output of npm or pip.
func parseLatest(launcher, out string) (string, error) {
	version := strings.Trim(strings.TrimSpace(out), `"`)
	if launcher == UVX { // mcp-server-time (1.2.3)
		if i, j := strings.Index(out, "("), strings.Index(out, ")"); i >= 0 && j > i {
			version = out[i+1 : j]
		}
	}
	if lines := strings.Fields(version); len(lines) > 1 {
		version = strings.Trim(lines[len(slices.Compact(lines))-1], `"],[`)
	}
	if !versionTag().MatchString(version) {
		return "", fmt.Errorf("the registry's response contains no version")
	}
	return version, nil
}
