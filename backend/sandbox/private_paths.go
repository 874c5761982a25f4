package sandbox

import (
	"os"
	"path/filepath"
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
