package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// privateInHome are keys, passwords, browser profiles, histories and the folders of AI clients, which
// no server needs unless the user says so.
var privateInHome = []string{
	// Keys and passwords.
	".ssh", ".gnupg", ".pki", ".password-store", ".local/share/keyrings", ".local/share/kwalletd", ".Xauthority",
	".config/Bitwarden", ".config/Bitwarden CLI", ".config/keepassxc", ".config/1Password", ".config/op", ".config/sops", ".config/age",
	".local/share/mkcert", ".step", ".electrum", ".bitcoin", ".ethereum", ".config/solana", ".foundry/keystores", ".local/share/python_keyring",
	// Credentials of programs and services.
	".netrc", ".git-credentials", ".config/git/credentials", ".pypirc", ".pgpass", ".my.cnf", ".mylogin.cnf", ".vault-token", ".android/adbkey",
	".cargo/credentials", ".cargo/credentials.toml", ".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties", ".gem/credentials",
	".aws", ".azure", ".kube", ".docker", ".config/containers/auth.json", ".terraform.d", ".terraformrc", ".pulumi", ".s3cfg", ".boto", ".oci", ".fly", ".ngrok2",
	".config/gcloud", ".config/gh", ".config/glab-cli", ".config/rclone", ".config/doctl", ".config/ngrok", ".config/stripe", ".config/hcloud", ".config/heroku",
	".config/hub", ".config/composer/auth.json", ".composer/auth.json", ".local/share/com.vercel.cli", ".config/netlify", ".config/.wrangler", ".config/configstore", ".config/helm",
	".railway", ".supabase", ".sentryclirc", ".cloudflared", ".tsh", ".kaggle", ".cache/huggingface/token", ".cache/huggingface/stored_tokens", ".huggingface", ".config/wandb",
	".config/io.datasette.llm", ".authinfo", ".authinfo.gpg", ".msmtprc", ".mbsyncrc", ".config/filezilla", ".config/remmina", ".local/share/remmina",
	".mcp-auth", ".config/pypoetry/auth.toml", ".local/share/uv/credentials", ".minikube", ".mc", ".databrickscfg", ".snowflake", ".snowsql", ".dbt/profiles.yml",
	".config/borg", ".config/restic", ".config/rbw", ".local/share/rbw", ".local/share/gopass", ".config/gopass", ".doppler", ".infisical", ".config/argocd", ".config/tea", ".clasprc.json", ".twilio-cli",
	".config/Insomnia", ".config/Postman", ".local/share/DBeaverData", ".vnc", ".putty", ".smbcredentials", ".config/aerc", ".config/himalaya", ".expo", ".config/JetBrains",
	// Browsers and messengers.
	".mozilla", ".config/mozilla", ".thunderbird", ".librewolf", ".zen", ".waterfox", ".config/google-chrome", ".config/google-chrome-beta", ".config/chromium",
	".config/BraveSoftware", ".config/microsoft-edge", ".config/vivaldi", ".config/opera", "snap/firefox", "snap/chromium", "snap/thunderbird", ".var/app",
	".config/Signal", ".config/Slack", ".config/Element", ".config/discord", ".local/share/TelegramDesktop",
	".config/evolution", ".local/share/evolution", ".config/goa-1.0",
	// Histories, which contain passwords.
	".history", ".sh_history", ".ash_history", ".bash_history", ".zsh_history", ".zhistory", ".local/share/fish/fish_history", ".config/nushell/history.txt",
	".local/share/powershell/PSReadLine", ".python_history", ".node_repl_history", ".irb_history", ".php_history", ".Rhistory", ".psql_history", ".mysql_history",
	".mariadb_history", ".sqlite_history", ".rediscli_history", ".mongodb/mongosh", ".dbshell", ".lesshst", ".viminfo", ".local/state/nvim/shada", ".local/share/atuin",
	// AI clients, in addition to the files of the clients that Drawbridge configures.
	".claude", ".claude.json", ".config/Claude", ".cursor", ".codex", ".gemini", ".codeium", ".copilot", ".config/github-copilot", ".local/share/opencode",
	".qwen", ".kimi", ".factory", ".augment", ".continue", ".aider.conf.yml", ".config/Cursor", ".config/Windsurf", ".config/Trae",
	// Encrypted tokens of the extensions of editors, for which the key is in the keyring.
	".config/Code/User/globalStorage/state.vscdb", ".config/Code/User/globalStorage/state.vscdb.backup",
	".config/VSCodium/User/globalStorage/state.vscdb", ".config/VSCodium/User/globalStorage/state.vscdb.backup",
	".config/goose", ".local/share/amp", ".local/share/crush", ".config/crush",
	// Our own default folders, which the daemon does not use if it has others.
	".config/drawbridge", ".local/share/drawbridge", ".local/state/drawbridge",
}

// movedByVariable are the variables that move private files and folders, and what of the home directory each
// of them replaces; "" if its value is the private path itself, or a list of them.
var movedByVariable = map[string]string{
	"XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share", "XDG_STATE_HOME": ".local/state", "XDG_CACHE_HOME": ".cache",
	"CARGO_HOME": ".cargo", "GRADLE_USER_HOME": ".gradle",
	"XDG_RUNTIME_DIR": "", "GNUPGHOME": "", "PASSWORD_STORE_DIR": "", "XAUTHORITY": "", "NETRC": "", "PGPASSFILE": "", "KUBECONFIG": "", "DOCKER_CONFIG": "",
	"AWS_SHARED_CREDENTIALS_FILE": "", "AWS_CONFIG_FILE": "", "AZURE_CONFIG_DIR": "", "CLOUDSDK_CONFIG": "", "GH_CONFIG_DIR": "", "GLAB_CONFIG_DIR": "",
	"GOOGLE_APPLICATION_CREDENTIALS": "", "PULUMI_HOME": "", "HISTFILE": "", "CLAUDE_CONFIG_DIR": "", "CODEX_HOME": "",
}

// MovedPrivatePaths returns the private paths that environment variables put elsewhere than in the usual places,
// except in folders for temporary files: servers could not create files directly in them then.
func MovedPrivatePaths(getenv func(string) string) (paths []string) {
	for name, folder := range movedByVariable {
		for _, value := range filepath.SplitList(getenv(name)) {
			if !filepath.IsAbs(value) || filepath.Dir(value) == value || isTemporary(value) {
				continue
			}
			if folder == "" {
				paths = append(paths, filepath.Clean(value))
				continue
			}
			for _, private := range privateInHome {
				if rest, ok := strings.CutPrefix(private, folder+"/"); ok {
					paths = append(paths, filepath.Join(value, rest))
				}
			}
		}
	}
	return paths
}

func isTemporary(path string) bool {
	return contains("/tmp", path) || contains("/var/tmp", path) || contains(filepath.Clean(os.TempDir()), path)
}

// mount is one line of /proc/self/mountinfo.
type mount struct {
	device string // of the file system
	root   string // the folder of the file system that is mounted
	at     string
}

// withOtherMounts returns paths and the other paths of the same files, where a file system is
// mounted more than once: by bind mounts, or as several subvolumes.
func withOtherMounts(paths []string) []string {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil { // not Linux
		return paths
	}
	return appendOtherMounts(paths, mountedTwice(string(text)))
}

// mountedTwice returns the mounts of the file systems that are mounted more than once.
func mountedTwice(mountinfo string) []mount {
	byDevice := map[string][]mount{}
	for line := range strings.Lines(mountinfo) {
		if f := strings.Fields(line); len(f) > 4 {
			byDevice[f[2]] = append(byDevice[f[2]], mount{f[2], unescapeMount(f[3]), unescapeMount(f[4])})
		}
	}
	var list []mount
	for _, mounts := range byDevice {
		if len(mounts) > 1 {
			list = append(list, mounts...)
		}
	}
	return list
}

// unescapeMount undoes the escapes of spaces and other special characters in mountinfo.
var unescapeMount = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace

func appendOtherMounts(paths []string, mounts []mount) []string {
	all := slices.Clone(paths)
	for _, path := range paths {
		for _, here := range mounts {
			if !contains(here.at, path) {
				continue
			}
			inFS := entryBelow(here.root, here.at, path)
			for _, other := range mounts {
				switch {
				case other.device != here.device || other.at == here.at:
				case contains(inFS, other.root): // all of it is private
					all = append(all, other.at)
				case contains(other.root, inFS):
					all = append(all, entryBelow(other.at, other.root, inFS))
				}
			}
		}
	}
	return sortUnique(all)
}

// entryBelow returns path, which folder contains, as it is called below root.
func entryBelow(root, folder, path string) string {
	switch rest := strings.TrimPrefix(path[len(folder):], "/"); {
	case rest == "":
		return root
	case root == folder:
		return path
	default:
		return entryOf(root, rest)
	}
}

// maxLinks is how many symbolic links of one path the kernel follows.
const maxLinks = 40

// linkReader reads symbolic links, each path once, and lists folders, each once. It is used for one
// start of a server. With a readlink for each path, the rules for a home directory with 34 entries
// take 2.4 ms instead of 1.3 ms.
type linkReader struct {
	links        map[string]readLink
	folders      map[string]*folder
	withoutLinks map[string]bool // clean paths of folders to which no symbolic link leads
	// preferListing is set while it is asked for many paths in few folders, most of which do not
	// exist: it then lists a folder instead of asking for each entry.
	preferListing bool
}

type readLink struct {
	to  string
	err error
}

type folder struct {
	lookups int // for entries
	listed  bool
	entries []os.DirEntry // by name
	err     error         // of listing it
}

// minLookupsToList is the number of entries from which listing a folder is faster than asking for
// each.
const minLookupsToList = 4

func newLinkReader() *linkReader {
	return &linkReader{links: map[string]readLink{}, folders: map[string]*folder{}, withoutLinks: map[string]bool{}}
}

func (l *linkReader) readlink(path string) (string, error) {
	one, ok := l.links[path]
	if !ok {
		one.to, one.err = l.readNewLink(path)
		l.links[path] = one
	}
	return one.to, one.err
}

func (l *linkReader) readNewLink(path string) (string, error) {
	slash := strings.LastIndexByte(path, '/')
	parent, name := path[:max(slash, 1)], path[slash+1:]
	if errors.Is(l.links[parent].err, fs.ErrNotExist) {
		return "", fs.ErrNotExist
	}
	f := l.folder(parent)
	if f.lookups++; l.preferListing && f.lookups >= minLookupsToList {
		f.list(parent)
	}
	if f.listed && f.err == nil {
		i, exists := slices.BinarySearchFunc(f.entries, name, func(e os.DirEntry, name string) int { return strings.Compare(e.Name(), name) })
		switch {
		case !exists:
			return "", fs.ErrNotExist
		case f.entries[i].Type()&os.ModeSymlink == 0:
			return "", errNoLink
		}
	}
	return os.Readlink(path)
}

var errNoLink = errors.New("not a symbolic link")

func (l *linkReader) folder(path string) *folder {
	f := l.folders[path]
	if f == nil {
		f = &folder{}
		l.folders[path] = f
	}
	return f
}

func (f *folder) list(path string) {
	if !f.listed {
		f.listed = true
		f.entries, f.err = os.ReadDir(path)
	}
}

// resolve returns path without symbolic links as far as it exists, and the links that lead to it.
func (l *linkReader) resolve(path string) (target string, through []string) {
	if !filepath.IsAbs(path) || filepath.Separator != '/' {
		return filepath.Clean(path), nil
	}
	slash := strings.LastIndexByte(path, '/')
	if name := path[slash+1:]; l.withoutLinks[path[:slash]] && name != "" && name != "." && name != ".." {
		if _, err := l.readlink(path); err != nil {
			return path, nil
		}
	}
	target = "/"
	missing := false                        // target does not exist, and so nothing below it
	isStart := path == filepath.Clean(path) // target is the beginning of path
	for name, rest := "", path; rest != ""; {
		name, rest, _ = strings.Cut(rest, "/")
		switch name {
		case "", ".":
			continue
		case "..":
			target, missing = filepath.Dir(target), false
			continue
		}
		at := strings.TrimSuffix(path[:max(0, len(path)-len(rest))], "/") // without a copy
		if !isStart {
			at = entryOf(target, name)
		}
		if missing || len(through) == maxLinks {
			target = at
			continue
		}
		to, err := l.readlink(at)
		if err != nil {
			target, missing = at, errors.Is(err, fs.ErrNotExist)
			continue
		}
		through, isStart = append(through, at), false
		if filepath.IsAbs(to) {
			target = "/"
		}
		rest = to + "/" + rest
	}
	if through == nil && isStart {
		l.withoutLinks[path[:slash]] = true
	}
	return target, through
}

func (l *linkReader) resolved(path string) string {
	target, _ := l.resolve(path)
	return target
}

func (l *linkReader) resolvedAll(paths []string) []string {
	out := make([]string, len(paths))
	for i, path := range paths {
		out[i] = l.resolved(path)
	}
	return out
}

// withTargets returns paths and where those that are symbolic links lead to.
func (l *linkReader) withTargets(paths []string) []string {
	all := slices.Clone(paths)
	for _, path := range paths {
		if target := l.resolved(path); target != path {
			all = append(all, target)
		}
	}
	return sortUnique(all)
}

// sortUnique sorts paths in place, and returns each once.
func sortUnique(paths []string) []string {
	slices.Sort(paths)
	return slices.Compact(paths)
}

func resolved(path string) string { return newLinkReader().resolved(path) }

// entryOf returns the path of an entry of a folder, or of one below it. Unlike filepath.Join, it
// expects clean paths.
func entryOf(folder, name string) string {
	if folder == "/" {
		return folder + name
	}
	return folder + "/" + name
}

// Versions of the interface that introduced what rules need.
const (
	truncateVersion = 3
	networkVersion  = 4
	deviceVersion   = 5
	scopeVersion    = 6
)
