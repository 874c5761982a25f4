package policy

import (
	"strings"
	"testing"
)

// Windows has several spellings of a path. Those that Drawbridge cannot read are denied.
func TestNoPathOfWindowsSlipsPastDeny(t *testing.T) {
	none := strings.NewReplacer()
	argumentCases{where: `{"/path": {"under": "C:/Users/me/keys"}}`, denied: `
		{"path":"C:\\Users\\me\\keys\\a"}
		{"path":"C:/Users/me/keys/a"}
		{"path":"c:\\users\\ME\\KEYS\\a"}
		{"path":"C:\\Users\\me\\keys"}
		{"path":"C:\\Users\\me\\notes\\..\\keys\\a"}
		{"path":"C:\\Users\\me\\keys.\\a"}
		{"path":"C:\\Users\\me\\keys \\a"}
		{"path":"C:\\Users\\me\\KEYS~1\\a"}
		{"path":"\\\\?\\C:\\Users\\me\\keys\\a"}
		{"path":"\\\\.\\C:\\Users\\me\\keys\\a"}
		{"path":"\\\\localhost\\C$\\Users\\me\\keys\\a"}
		{"path":"C:\\Users\\me\\keys\\a::$DATA"}
		{"path":"file:///C:/Users/me/keys/a"}
		{"path":"file:///c%3A/Users/me/keys/a"}
		{"path":"%USERPROFILE%\\keys\\a"}
	`, passed: `
		{"path":"C:\\Users\\me\\notes\\a"}
		{"path":"c:/Users/me/keysets/a"}
		{"path":"D:\\Users\\me\\keys\\a"}
	`}.run(t, none, "")
	argumentCases{where: `{"/path": {"notUnder": "C:/Users/me/notes"}}`, denied: `
		{"path":"C:\\Users\\me\\notes\\..\\keys\\a"}
		{"path":"C:\\Users\\me\\notes2\\a"}
		{"path":"\\Users\\me\\keys"}
		{"path":"C:a"}
	`, passed: `
		{"path":"C:\\Users\\me\\notes\\a"}
		{"path":"c:/users/me/NOTES/a"}
	`}.run(t, none, "")
}
