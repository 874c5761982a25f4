//go:build !windows && !darwin

package desktop

import (
	"os"
	"path/filepath"
	"strings"
)

func (a Autostart) file() (path string, content []byte, err error) {
	dir := a.config
	if dir == "" {
		if dir, err = os.UserConfigDir(); err != nil {
			return "", nil, err
		}
	}
	quoted := make([]string, 0, 4)
	for _, arg := range a.arguments() {
		quoted = append(quoted, execQuote(arg))
	}
	entry := `[Desktop Entry]
Type=Application
Name=Drawbridge
Comment=Runs your MCP servers and records every call
Exec=` + strings.Join(quoted, " ") + `
Icon=drawbridge
Terminal=false
X-GNOME-Autostart-enabled=true
`
	return filepath.Join(dir, "autostart", a.name()+".desktop"), []byte(entry), nil
}

// execQuote quotes one argument for the Exec key (Desktop Entry Specification 1.5, "The Exec
// key"): quoted for the command line, then escaped as a string value, with the percent sign
// of field codes doubled.
func execQuote(arg string) string {
	arg = strings.ReplaceAll(arg, "%", "%%")
	plain := strings.IndexFunc(arg, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@%", r)
	}) < 0
	if plain && arg != "" {
		return arg
	}
	arg = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", `$`, `\$`).Replace(arg)
	return strings.ReplaceAll(`"`+arg+`"`, `\`, `\\`)
}
