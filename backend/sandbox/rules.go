package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Rules are what a confined process may reach. A path stands for itself and everything below it.
// Paths that do not exist when the process is started are left out.
type Rules struct {
	Read  []string // to read and execute
	Write []string // to read, execute, write, create and remove
	// NoNetwork refuses TCP connections, except to Ports, and listening for them.
	NoNetwork bool
	Ports     []int
}

// Program describes a program for which RulesFor computes rules.
type Program struct {
	Home string   // of the user
	Dir  string   // working directory, or ""
	Path string   // executable
	Args []string // folders among them may be written
	// Private are files and folders that nobody may read, in addition to the usual ones in Home.
	Private []string
	// Read and Write come from the user and override everything else; "~/" stands for Home.
	Read, Write []string
	NoNetwork   bool
	Ports       []int
}

// privateInHome are keys, passwords, browser profiles and the files of AI clients, which no server
// needs unless the user says so.
var privateInHome = []string{
	".ssh", ".gnupg", ".password-store", ".netrc", ".git-credentials", ".pypirc", ".pgpass",
	".aws", ".azure", ".kube", ".docker", ".config/gcloud", ".config/gh", ".config/op", ".config/rclone",
	".local/share/keyrings", ".local/share/kwalletd",
	".mozilla", ".thunderbird", ".config/mozilla", ".config/google-chrome", ".config/chromium",
	".config/BraveSoftware", ".config/microsoft-edge", ".config/vivaldi", ".config/opera",
	"snap/firefox", "snap/chromium", ".var/app",
	".bash_history", ".zsh_history", ".python_history", ".psql_history", ".mysql_history",
	".claude", ".claude.json", ".config/Claude", ".cursor", ".codex", ".gemini", ".codeium",
}

// startsPrograms are files and folders in the home directory from which programs are started
// later. A folder of the user that contains them may be written without them.
var startsPrograms = []string{
	".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
	".config/fish", ".config/autostart", ".config/systemd", ".local/bin", ".local/share/applications", "bin",
	".config/environment.d", ".pam_environment", ".xprofile", ".xinitrc", ".xsession", ".gitconfig", ".config/git", ".vscode", ".config/Code",
}

// packageCaches are where the usual launchers keep packages.
var packageCaches = []string{
	".npm", ".cache/npm", ".cache/node", ".cache/yarn", ".cache/pnpm", ".local/share/pnpm", ".bun", ".cache/deno", ".deno",
	".cache/uv", ".local/share/uv", ".cache/pip", ".cache/pipx", ".local/pipx", ".cache/go-build", "go/pkg", ".cache/ms-playwright", playwrightProfiles,
}

// playwrightProfiles is where the MCP server of Playwright keeps the profiles of its browsers. It
// does not start its browser without it.
const playwrightProfiles = ".cache/ms-playwright-mcp"

// createdByLauncher are the caches that a launcher creates if they are missing, which it cannot do
// within the rules.
var createdByLauncher = map[string][]string{
	"npx": {".npm"}, "npm": {".npm"}, "uvx": {".cache/uv", ".local/share/uv"}, "uv": {".cache/uv", ".local/share/uv"},
}

// devices may be written: they keep nothing.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm"}

// RulesFor computes the rules of p. It reads folders, and creates the package cache of a launcher
// if it is missing.
func RulesFor(p Program) Rules {
	home := resolved(p.Home)
	inHome := func(paths []string) []string {
		out := make([]string, len(paths))
		for i, path := range paths {
			out[i] = filepath.Join(home, path)
		}
		return out
	}
	private := slices.Concat(inHome(privateInHome), resolvedAll(p.Private))
	unwritable := slices.Concat(private, inHome(startsPrograms))
	for _, cache := range createdByLauncher[filepath.Base(p.Path)] {
		_ = os.MkdirAll(filepath.Join(home, cache), 0o755) // if it fails, the launcher says so
	}

	if slices.ContainsFunc(p.Args, func(arg string) bool { return strings.Contains(arg, "@playwright/mcp") }) {
		_ = os.MkdirAll(filepath.Join(home, playwrightProfiles), 0o700) // if it fails, the server says so
	}

	r := Rules{NoNetwork: p.NoNetwork, Ports: p.Ports}
	r.Read = without("/", private)
	r.Write = slices.Concat(devices, inHome(packageCaches))
	for _, temporary := range resolvedAll([]string{os.TempDir(), "/tmp", "/var/tmp"}) {
		r.Write = append(r.Write, without(temporary, append(unwritable, home))...)
	}
	folders := foldersIn(p.Args)
	if p.Dir != "" && !contains(resolved(p.Dir), home) { // the home directory is where servers run that do not care
		folders = append(folders, p.Dir)
	}
	for _, folder := range folders {
		if folder = resolved(folder); folder != "/" {
			r.Write = append(r.Write, without(folder, unwritable)...)
		}
	}
	for _, own := range []struct {
		to   *[]string
		from []string
	}{{&r.Read, p.Read}, {&r.Write, p.Write}} {
		for _, path := range own.from {
			if rest, ok := strings.CutPrefix(path, "~"); ok {
				path = filepath.Join(home, rest)
			}
			*own.to = append(*own.to, resolved(path))
		}
	}
	slices.Sort(r.Write)
	r.Write = slices.Compact(r.Write)
	return r
}

// maxEntries limits the rules for one folder; the rest of its entries is refused.
const maxEntries = 4000

// without returns paths that cover dir but none of the excluded ones: dir itself if none lies in
// it. Entries that are created later are not covered then, and neither are symbolic links, whose
// targets count.
func without(dir string, excluded []string) []string {
	split := false
	for _, path := range excluded {
		if contains(path, dir) {
			return nil
		}
		split = split || contains(dir, path)
	}
	if !split {
		return []string{dir}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, entry := range entries[:min(len(entries), maxEntries)] {
		if entry.Type()&os.ModeSymlink == 0 {
			out = append(out, without(filepath.Join(dir, entry.Name()), excluded)...)
		}
	}
	return out
}

// contains reports whether path is dir or lies below it.
func contains(dir, path string) bool {
	return dir == "/" || path == dir || strings.HasPrefix(path, dir+"/")
}

// foldersIn returns the existing absolute folders among arguments, also as --name=folder, and
// existing absolute files.
func foldersIn(args []string) (folders []string) {
	for _, arg := range args {
		if _, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(arg, "-") {
			arg = value
		}
		if filepath.IsAbs(arg) {
			if info, err := os.Stat(arg); err == nil && (info.IsDir() || info.Mode().IsRegular()) {
				folders = append(folders, arg)
			}
		}
	}
	return folders
}

// resolved returns path without symbolic links as far as it exists.
func resolved(path string) string {
	path = filepath.Clean(path)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(resolved(parent), filepath.Base(path))
	}
	return path
}

func resolvedAll(paths []string) []string {
	out := make([]string, len(paths))
	for i, path := range paths {
		out[i] = resolved(path)
	}
	return out
}

// MayRead and MayWrite report whether the rules cover path.
func (r Rules) MayRead(path string) bool {
	return r.MayWrite(path) || slices.ContainsFunc(r.Read, func(dir string) bool { return contains(dir, path) })
}

// MayWrite reports whether path may be written.
func (r Rules) MayWrite(path string) bool {
	return slices.ContainsFunc(r.Write, func(dir string) bool { return contains(dir, path) })
}
