package sandbox

// privateInHome are keys, passwords, browser profiles, histories and the folders of AI clients, which
// no server needs unless the user says so.
var privateInHome = []string{
	// Keys and passwords.
	".ssh", ".gnupg", ".pki", ".password-store", ".local/share/keyrings", ".local/share/kwalletd", ".Xauthority",
	".config/Bitwarden", ".config/Bitwarden CLI", ".config/keepassxc", ".config/1Password", ".config/op", ".config/sops", ".config/age",
	// Credentials of programs and services.
	".netrc", ".git-credentials", ".config/git/credentials", ".pypirc", ".pgpass", ".my.cnf", ".mylogin.cnf", ".vault-token",
	".cargo/credentials", ".cargo/credentials.toml", ".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties", ".gem/credentials",
	".aws", ".azure", ".kube", ".docker", ".config/containers/auth.json", ".terraform.d", ".terraformrc", ".pulumi", ".s3cfg", ".boto", ".oci", ".fly", ".ngrok2",
	".config/gcloud", ".config/gh", ".config/glab-cli", ".config/rclone", ".config/doctl", ".config/ngrok", ".config/stripe", ".config/hcloud", ".config/heroku",
	// Browsers and messengers.
	".mozilla", ".config/mozilla", ".thunderbird", ".librewolf", ".zen", ".waterfox", ".config/google-chrome", ".config/google-chrome-beta", ".config/chromium",
	".config/BraveSoftware", ".config/microsoft-edge", ".config/vivaldi", ".config/opera", "snap/firefox", "snap/chromium", "snap/thunderbird", ".var/app",
	".config/Signal", ".config/Slack", ".config/Element", ".config/discord", ".local/share/TelegramDesktop",
	// Histories, which contain passwords.
	".history", ".sh_history", ".ash_history", ".bash_history", ".zsh_history", ".zhistory", ".local/share/fish/fish_history", ".config/nushell/history.txt",
	".local/share/powershell/PSReadLine", ".python_history", ".node_repl_history", ".irb_history", ".php_history", ".Rhistory", ".psql_history", ".mysql_history",
	".mariadb_history", ".sqlite_history", ".rediscli_history", ".mongodb/mongosh", ".dbshell", ".lesshst", ".viminfo",
	// AI clients, in addition to the files of the clients that Drawbridge configures.
	".claude", ".claude.json", ".config/Claude", ".cursor", ".codex", ".gemini", ".codeium", ".copilot", ".config/github-copilot", ".local/share/opencode",
	".qwen", ".kimi", ".factory", ".augment",
	// Our own default folders, which the daemon does not use if it has others.
	".config/drawbridge", ".local/share/drawbridge", ".local/state/drawbridge",
}
