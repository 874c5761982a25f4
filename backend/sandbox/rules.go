package sandbox

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Rules are what a confined process may reach. A path stands for itself and everything below it,
// and contains no symbolic links. Paths that do not exist when the process is started are left out.
type Rules struct {
	Read  []string // to read and execute
	Write []string // to read, execute, write, create and remove
	// NoNetwork refuses TCP connections, except to Ports, and listening for them.
	NoNetwork bool
	Ports     []int
	// NoUnixSockets refuses connections to Unix sockets, and listening for them.
	NoUnixSockets bool
	// Private are the paths that only an entry in sandbox.read or sandbox.write for the path
	// itself, or for one below it, allows.
	Private []string
	// StartsPrograms are the paths from which programs are started later. The program may write to
	// them only if sandbox.write names them.
	StartsPrograms []string
	// Ignored says which paths of the program are left out or too wide, and why.
	Ignored []string
}

// Program describes a program for which RulesFor computes rules.
type Program struct {
	Home string   // of the user
	Dir  string   // working directory, or ""
	Path string   // executable
	Args []string // folders among them may be written
	// Private are files and folders that nobody may read, in addition to the usual ones in Home.
	Private []string
	// Read and Write come from the user and override everything else, except that a folder does not
	// include the private paths below it; "~/" stands for Home.
	Read, Write []string
	// Unwritable are files that the program may not write, unless Write names them.
	Unwritable    []string
	NoNetwork     bool
	Ports         []int
	NoUnixSockets bool
}

// startsPrograms are files and folders in the home directory from which programs are started
// later. A folder of the user that contains them may be written without them.
var startsPrograms = []string{
	".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
	".config/fish", ".config/autostart", ".config/systemd", ".local/bin", ".local/share/applications", "bin",
	".config/environment.d", ".pam_environment", ".xprofile", ".xinitrc", ".xsession", ".gitconfig", ".config/git", ".vscode", ".config/Code",
	".bash_aliases", ".zlogout", ".inputrc", ".xsessionrc", ".oh-my-zsh", ".config/zsh", ".npmrc", ".yarnrc.yml", ".bunfig.toml", ".config/mimeapps.list",
	".tmux.conf", ".config/tmux", ".vimrc", ".vim", ".config/nvim", ".emacs", ".emacs.d", ".config/emacs", ".ipython", ".config/direnv",
	".config/kitty", ".config/alacritty", ".config/i3", ".config/sway", ".config/hypr", ".config/plasma-workspace",
	".screenrc", ".gdbinit", ".config/gdb", ".lldbinit", ".psqlrc", ".sqliterc", ".irbrc", ".pryrc", ".Rprofile", ".julia/config", ".sbclrc", ".ghci", ".mailcap", ".hgrc", ".config/hg",
	".config/powershell", ".config/nushell", ".config/starship.toml", ".wezterm.lua", ".config/wezterm", ".config/zellij", ".config/helix", ".config/zed", ".config/VSCodium", ".vscode-server",
	".config/pip", ".config/pnpm", ".condarc", ".mavenrc", ".gradle/init.d", ".gradle/init.gradle", ".cargo/config", ".cargo/config.toml", ".rustup", ".conda", "miniconda3", "anaconda3",
	".local/share/dbus-1", ".local/share/gnome-shell", ".local/share/nautilus-python", ".local/share/nautilus", ".config/openbox", ".config/bspwm", ".config/sxhkd", ".config/awesome", ".config/qtile",
	".config/xfce4", ".config/lxsession", ".xbindkeysrc", ".xmonad", ".config/xmonad", ".config/mpv", ".config/ranger", ".config/lf", ".config/mise", ".local/share/mise", ".config/nix", ".nix-profile",
	".config/home-manager", ".config/jj", ".jjconfig.toml", ".local/share/nvim", ".doom.d", ".config/doom", ".config/vim", ".local/share/fish/vendor_conf.d", ".local/share/zinit", ".zplug", ".fzf",
	".local/share/pipx/venvs", ".local/pipx/venvs", ".local/share/uv/python",
	".local/lib", ".nvm", ".pyenv", ".rbenv", ".asdf", ".volta", ".sdkman", ".cargo/bin", "go/bin", ".bun/bin", ".deno/bin",
}

// packageCaches are where the usual launchers keep packages for their own later use. Folders of
// installed programs are not among them.
var packageCaches = []string{
	".npm", ".cache/npm", ".cache/node", ".cache/yarn", ".yarn/berry", ".cache/pnpm", ".local/share/pnpm/store", ".bun/install/cache", ".cache/deno",
	".cache/uv", uvTools + "/.lock", ".cache/pip", ".cache/pipx", ".local/pipx/.cache", ".local/pipx/logs", ".cache/go-build", "go/pkg", playwrightBrowsers, playwrightProfiles, puppeteerBrowsers,
}

// puppeteerBrowsers is where the installation of packages that depend on Puppeteer downloads a
// browser to, and fails if it cannot.
const puppeteerBrowsers = ".cache/puppeteer"

// uvTools is where uv installs programs. uvx creates and locks it even if it only runs one.
const uvTools = ".local/share/uv/tools"

// playwrightBrowsers and playwrightProfiles are where the MCP server of Playwright keeps its
// browsers and their profiles. It does not start a browser without them.
const (
	playwrightBrowsers = ".cache/ms-playwright"
	playwrightProfiles = ".cache/ms-playwright-mcp"
)

var pnpmCaches = []string{".cache/pnpm", ".local/share/pnpm/store"}

// createdByLauncher are the caches that a launcher creates if they are missing, which it cannot do
// within the rules.
var createdByLauncher = map[string][]string{
	"npx": {".npm", puppeteerBrowsers}, "npm": {".npm", puppeteerBrowsers}, "uvx": {".cache/uv", uvTools}, "uv": {".cache/uv", uvTools},
	"deno": {".cache/deno"}, "pnpm": pnpmCaches, "pnpx": pnpmCaches, "yarn": {".yarn/berry", ".cache/yarn"},
}

// devices may be read and written. They keep nothing, except those in /dev/shm. Other devices are
// not even readable: terminals and keyboards tell what the user types.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/shm"}

// DenyAllRules returns rules that allow nothing, with the private paths and those that start
// programs.
func DenyAllRules(userHome string, private, unwritable []string) Rules {
	return denyAllRules(newLinkReader(), resolved(userHome), private, unwritable)
}

func denyAllRules(links *linkReader, home string, private, unwritable []string) Rules {
	inHome := func(paths []string) []string {
		out := make([]string, len(paths))
		for i, path := range paths {
			out[i] = entryOf(home, path)
		}
		return out
	}
	links.preferListing = true
	defer func() { links.preferListing = false }()
	// A rule for the second mount of a file system, as in a folder that somebody made a root of, holds for
	// the first one, too.
	kernel := slices.DeleteFunc(withOtherMounts([]string{"/proc", "/sys"}), func(path string) bool { return contains("/proc", path) || contains("/sys", path) })
	return Rules{
		Private:        sortUnique(slices.Concat(withOtherMounts(links.withTargets(slices.Concat(inHome(privateInHome), []string{"/dev", "/run/user"}, private))), kernel)),
		StartsPrograms: links.withTargets(slices.Concat(inHome(startsPrograms), unwritable)),
	}
}

// RulesFor computes the rules of p. It reads folders, and creates the package cache of a launcher
// if it is missing.
func RulesFor(p Program) Rules {
	home := resolved(p.Home)
	for _, cache := range createdByLauncher[filepath.Base(p.Path)] {
		_ = os.MkdirAll(filepath.Join(home, cache), 0o755) // if it fails, the launcher says so
		if cache == uvTools {
			createFile(filepath.Join(home, uvTools, ".lock"), "")
			createFile(filepath.Join(home, uvTools, ".gitignore"), "*")
		}
	}

	if slices.ContainsFunc(p.Args, func(arg string) bool { return strings.Contains(arg, "@playwright/mcp") }) {
		for _, folder := range []string{playwrightBrowsers, playwrightProfiles} {
			_ = os.MkdirAll(filepath.Join(home, folder), 0o700) // if it fails, the server says so
		}
	}

	links := newLinkReader() // when everything has been created, because it lists folders
	r := denyAllRules(links, home, p.Private, p.Unwritable)
	r.NoNetwork, r.Ports, r.NoUnixSockets = p.NoNetwork, p.Ports, p.NoUnixSockets
	unwritable := sortUnique(slices.Concat(r.Private, r.StartsPrograms))

	r.Read = links.without("/", r.Private)
	folders := foldersIn(p.Args)
	folders = slices.DeleteFunc(folders, func(folder string) bool {
		whole := contains(links.resolved(folder), home)
		if whole {
			r.Ignored = append(r.Ignored, "its sandbox does not let it write to "+folder+" in args, which contains the home directory: in sandbox.write, list the folders that the server needs")
		}
		return whole
	})
	if p.Dir != "" && !contains(links.resolved(p.Dir), home) { // the home directory is where servers run that do not care
		folders = append(folders, p.Dir)
	}
	read, write := inUsersHome(p.Home, p.Read), inUsersHome(p.Home, p.Write)
	configured := slices.Concat(links.resolvedAll(folders), links.resolvedAll(write))
	r.Write = links.resolvedAll(devices)
	for _, cache := range packageCaches {
		if cache = r.followDefault(links, entryOf(home, cache), append(configured, home)); cache != "" {
			r.Write = append(r.Write, links.without(cache, unwritable)...)
		}
	}
	temporaries := []string{"/tmp", "/var/tmp"}
	if own := filepath.Clean(os.TempDir()); !slices.Contains(temporaries, own) {
		temporaries = append(temporaries, own)
	}
	unwritableHere := sortUnique(append(slices.Clip(unwritable), home))
	for _, temporary := range temporaries {
		if temporary = r.followDefault(links, temporary, slices.Concat(r.Write, configured, []string{home})); temporary != "" {
			r.Write = append(r.Write, links.without(temporary, unwritableHere)...)
			r.warnIfSplit(temporary, slices.DeleteFunc(links.withTargets(p.Private), func(path string) bool { return contains(home, path) }))
		}
	}
	// What the program may write now, or might have been allowed to write at its last start.
	writable := Rules{Write: slices.Concat(r.Write, configured)}
	for _, folder := range folders {
		if folder = r.follow(links, folder, writable); folder != "" && folder != "/" {
			r.Write = append(r.Write, links.without(folder, unwritable)...)
			r.warnIfSplit(folder, unwritable)
		}
	}
	for _, path := range read {
		r.Read = r.appendOwn(links, r.Read, "sandbox.read", path, writable)
	}
	for _, path := range write {
		r.Write = r.appendOwn(links, r.Write, "sandbox.write", path, writable)
	}
	r.Write = sortUnique(r.Write)
	return r
}

// createFile creates a file if nothing has its name. If it fails, the launcher says so.
func createFile(path, content string) {
	if f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666); err == nil {
		_, _ = f.WriteString(content)
		_ = f.Close()
	}
}

// appendOwn appends a path of the user to list, without the private paths below it.
func (r *Rules) appendOwn(links *linkReader, list []string, key, path string, writable Rules) []string {
	target := r.follow(links, path, writable)
	if target == "" {
		return list
	}
	isPrivate := func(path string) bool {
		return slices.ContainsFunc(r.Private, func(one string) bool { return contains(one, path) })
	}
	if isPrivate(target) && !isPrivate(filepath.Clean(path)) { // a server without a sandbox may have replaced it
		r.Ignored = append(r.Ignored, "its sandbox ignores "+path+" in "+key+", because it resolves to "+target+", which is private: if that is intended, use "+target+" instead")
		return list
	}
	if _, err := os.Lstat(target); errors.Is(err, os.ErrNotExist) {
		r.Ignored = append(r.Ignored, "its sandbox ignores "+path+" in "+key+", which does not exist: create it and restart the server")
	}
	if one := below(r.StartsPrograms, target); key == "sandbox.write" && one != "" {
		r.Ignored = append(r.Ignored, "its sandbox lets it write to "+path+", which contains files that start programs outside the sandbox, such as "+one+": list individual folders in sandbox.write instead")
	}
	inside := slices.DeleteFunc(slices.Clone(r.Private), func(path string) bool { return path == target || !contains(target, path) })
	if key == "sandbox.write" {
		r.warnIfSplit(target, inside)
	}
	return append(list, links.without(target, inside)...)
}

// below returns one of paths that lies in folder, one that exists if there is any, or "".
func below(paths []string, folder string) (found string) {
	for _, path := range paths {
		if path == folder || !contains(folder, path) {
			continue
		}
		if _, err := os.Lstat(path); err == nil {
			return path
		}
		found = cmp.Or(found, path)
	}
	return found
}

// warnIfSplit says in r.Ignored if the program cannot create files directly in a folder that it may
// write, because excluded paths lie in it.
func (r *Rules) warnIfSplit(folder string, excluded []string) {
	one := below(excluded, folder)
	if one == "" || slices.ContainsFunc(excluded, func(path string) bool { return contains(path, folder) }) {
		return
	}
	r.Ignored = append(r.Ignored, "its sandbox does not let it create files directly in "+folder+", because this folder contains "+one+
		", which the server must not change: move it, or use another folder")
}

// follow returns path without symbolic links. If the program may have created one of them, which
// could lead anywhere, it returns "" and says so in r.Ignored.
func (r *Rules) follow(links *linkReader, path string, writable Rules) string {
	target, through := links.resolve(path)
	for _, link := range through {
		if writable.MayWrite(link) {
			r.Ignored = append(r.Ignored, "its sandbox ignores "+path+", because the server may have created the symbolic link "+link+
				": if its target is correct, use "+target+" instead")
			return ""
		}
	}
	return target
}

// followDefault returns a folder of the default rules without symbolic links. If one of them lies
// in suspect, where a server may have created it, it returns "" and says so in r.Ignored.
func (r *Rules) followDefault(links *linkReader, path string, suspect []string) string {
	target, through := links.resolve(path)
	for _, link := range through {
		if (Rules{Write: suspect}).MayWrite(link) {
			r.Ignored = append(r.Ignored, "its sandbox does not allow writing to "+path+", because "+link+
				" is a symbolic link that a server may have created: if its target is correct, add "+target+" to sandbox.write")
			return ""
		}
	}
	return target
}

// inUsersHome replaces "~" at the beginning of paths by home, and home by what it leads to.
func inUsersHome(home string, paths []string) []string {
	out := make([]string, len(paths))
	for i, path := range paths {
		if rest, ok := strings.CutPrefix(path, "~"); ok {
			path = filepath.Join(home, rest)
		}
		if home = filepath.Clean(home); contains(home, path) {
			path = filepath.Join(resolved(home), path[len(home):])
		}
		out[i] = path
	}
	return out
}

// maxEntries limits the rules for one folder; the rest of its entries is refused.
const maxEntries = 4000

// without returns paths that cover dir but none of the excluded ones, which are sorted: dir itself
// if none lies in it. Entries that are created later are not covered then, and neither are symbolic
// links, whose targets count.
func (l *linkReader) without(dir string, excluded []string) []string {
	for above := dir; ; above = above[:strings.LastIndexByte(above, '/')] {
		if _, found := slices.BinarySearch(excluded, cmp.Or(above, "/")); found {
			return nil
		}
		if !strings.Contains(above, "/") {
			return l.withoutInside(nil, dir, excluded)
		}
	}
}

// withoutInside is without for a folder of which neither itself nor one that contains it is
// excluded.
func (l *linkReader) withoutInside(out []string, dir string, excluded []string) []string {
	inside := entriesBelow(excluded, dir)
	if len(inside) == 0 {
		return append(out, dir)
	}
	f := l.folder(dir)
	f.list(dir)
	if f.err != nil {
		return out
	}
	for _, entry := range f.entries[:min(len(f.entries), maxEntries)] {
		path := entryOf(dir, entry.Name())
		if _, found := slices.BinarySearch(inside, path); !found && entry.Type()&os.ModeSymlink == 0 {
			out = l.withoutInside(out, path, inside)
		}
	}
	return out
}

// entriesBelow returns those of the sorted paths that lie below dir.
func entriesBelow(paths []string, dir string) []string {
	dir = strings.TrimSuffix(dir, "/")
	from, _ := slices.BinarySearch(paths, dir+"/")
	to, _ := slices.BinarySearch(paths[from:], dir+"0") // the character after "/"
	return paths[from : from+to]
}

// contains reports whether path is dir or lies below it.
func contains(dir, path string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (dir == "/" || rest == "" || rest[0] == '/')
}

// programSuffixes end the names of files that interpreters run. A server does not need to change
// its own code, which runs outside of the sandbox if the user turns it off.
var programSuffixes = []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".py", ".pyz", ".sh", ".rb", ".pl", ".php", ".lua", ".jar", ".dll"}

// foldersIn returns the existing absolute folders among arguments, also as --name=folder, and
// existing absolute files that are not programs.
func foldersIn(args []string) (folders []string) {
	for _, arg := range args {
		if _, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(arg, "-") {
			arg = value
		}
		if filepath.IsAbs(arg) {
			info, err := os.Stat(arg)
			if err == nil && (info.IsDir() || info.Mode().IsRegular() && info.Mode()&0o111 == 0 && !slices.Contains(programSuffixes, filepath.Ext(arg))) {
				folders = append(folders, arg)
			}
		}
	}
	return folders
}

// MayRead and MayWrite report whether the rules cover path.
func (r Rules) MayRead(path string) bool {
	return r.MayWrite(path) || slices.ContainsFunc(r.Read, func(dir string) bool { return contains(dir, path) })
}

// MayWrite reports whether path may be written.
func (r Rules) MayWrite(path string) bool {
	return slices.ContainsFunc(r.Write, func(dir string) bool { return contains(dir, path) })
}

// Protection is something that a sandbox can or cannot confine on this system.
type Protection struct {
	Name     string `json:"name"`
	Enforced bool   `json:"enforced" doc:"Whether this system can enforce it"`
	Requires string `json:"requires" doc:"What it requires, or why it is not possible"`
}

// Protections returns what this system can and cannot enforce for a confined program.
func Protections() []Protection { return protections(landlockABIVersion(), filtersSockets()) }

func protections(version int, filters bool) []Protection {
	return []Protection{
		{"Reading, writing and running files", version >= 1, "Linux 5.13 with Landlock"},
		{"Truncating files", version >= truncateVersion, "Linux 6.2"},
		{"TCP connections to individual ports", version >= networkVersion, "Linux 6.7"},
		{"Network connections, all or none", version >= 1 && filters, "Linux 5.13 with Landlock, on amd64 or arm64"},
		{"Device ioctls", version >= deviceVersion, "Linux 6.10"},
		{"Signals to other processes, and connections to their abstract sockets", version >= scopeVersion, "Linux 6.12"},
		{"Gaining privileges through setuid", version >= 1, "Linux 5.13 with Landlock"},
		{"Connections to individual hosts", false, "not possible: the kernel filters by port only"},
		{"Unix sockets, all or none", version >= 1 && filters, "Linux 5.13 with Landlock, on amd64 or arm64"},
		{"Kernel keyring, and resource limits of other processes", version >= 1 && filters, "Linux 5.13 with Landlock, on amd64 or arm64"},
	}
}

// ContainerProtections returns what a sandbox confines of a container.
func ContainerProtections() []Protection {
	return []Protection{
		{"Writing to files in the container, outside its mounts", true, "Docker"},
		{"Files on this machine, outside the container's mounts", true, "Docker"},
		{"Network connections, all or none", true, "Docker"},
		{"Gaining privileges through setuid", true, "Docker"},
		{"Connections to individual ports or hosts", false, "not possible for containers"},
	}
}

// Refusal is an access that a sandbox refused, as the program reported it.
type Refusal struct {
	Path string `json:"path"`
	// Unreadable is set if reading is refused, too, so that either may have been tried.
	Unreadable bool   `json:"unreadable" doc:"Whether reading is also denied, so the server may have tried to read or to write"`
	Allow      string `json:"allow" doc:"What to add to the sandbox to allow it: the path, or its folder if the file does not exist; empty if only an edit of the configuration allows it, as remark says"`
	Remark     string `json:"remark,omitempty" doc:"Why there is nothing to allow"`
}

// WithAllow returns the refusal with what to allow, under the rules r of the program, which
// reported it and may have made it up.
func (one Refusal) WithAllow(r Rules, home string) Refusal {
	target := resolved(one.Path)
	for filepath.IsAbs(target) && target != filepath.Dir(target) { // rules are for existing files only
		if _, err := os.Lstat(target); err == nil {
			break
		}
		target = filepath.Dir(target)
	}
	if one.Remark = r.WhyNotOffered(home, target, !one.Unreadable); one.Remark == "" {
		one.Allow = target
	}
	return one
}

// WhyNotOffered returns why only an edit of the configuration may allow path, as the end of a
// sentence about it, or "".
func (r Rules) WhyNotOffered(home, path string, write bool) string {
	path = resolved(path)
	related := func(list []string) bool {
		return slices.ContainsFunc(list, func(one string) bool { return contains(path, one) || contains(one, path) })
	}
	switch {
	case related(r.Private):
		return "is private or contains private files"
	case contains(path, resolved(home)):
		return "contains the home directory"
	case write && related(r.StartsPrograms):
		return "contains files that start programs outside the sandbox"
	}
	return ""
}

// PrivatePath returns the private path that is or contains path, or "".
func (r Rules) PrivatePath(path string) string {
	if i := slices.IndexFunc(r.Private, func(one string) bool { return contains(one, path) }); i >= 0 {
		return r.Private[i]
	}
	return ""
}

// Access is what rules allow and refuse, for display. Paths in the home directory begin with "~/".
type Access struct {
	Write      []string `json:"write" nullable:"false" doc:"Files and folders that it may write, other than devices"`
	Unreadable []string `json:"unreadable" nullable:"false" doc:"Existing files and folders that it may not read"`
}

// Access returns what the rules mean for the files that exist now. Those in named, such as the arguments
// of the program, come first.
func (r Rules) Access(home string, named []string) Access {
	var folders []string
	for _, one := range named {
		if filepath.IsAbs(one) {
			folders = append(folders, resolved(one))
		}
	}
	first := func(path string) int {
		if slices.ContainsFunc(folders, func(one string) bool { return contains(one, path) }) {
			return 0
		}
		return 1
	}
	isDevice := func(path string) bool { return contains("/dev", path) }
	unreadable := slices.DeleteFunc(slices.Clone(r.Private), func(path string) bool {
		_, err := os.Lstat(path)
		return err != nil || r.MayRead(path)
	})
	list := func(paths []string) []string {
		paths = outermost(paths)
		slices.SortStableFunc(paths, func(a, b string) int { return first(a) - first(b) })
		return append([]string{}, shortened(paths, resolved(home))...)
	}
	return Access{Write: list(slices.DeleteFunc(slices.Clone(r.Write), isDevice)), Unreadable: list(unreadable)}
}

// outermost returns paths without those that lie in another one, sorted.
func outermost(paths []string) (list []string) {
	slices.Sort(paths)
	for _, path := range paths {
		if !slices.ContainsFunc(list, func(dir string) bool { return contains(dir, path) }) {
			list = append(list, path)
		}
	}
	return list
}

func shortened(paths []string, home string) []string {
	for i, path := range paths {
		if path == home {
			paths[i] = "~"
		} else if rest, ok := strings.CutPrefix(path, home+"/"); ok {
			paths[i] = "~/" + rest
		}
	}
	return paths
}
