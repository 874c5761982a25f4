package process

import "strings"

// withoutCmd returns what npm's command files for Windows, npx.cmd and npm.cmd, would have the
// command interpreter start: node and the script beside them. Arguments then reach npm as they
// are, where the interpreter acts on characters such as & and %. All else stays as it is.
//
// The command files prefer an npm that was installed globally over the one beside them; which
// of the two runs makes no difference to a server. exists tells of a file; node is node's
// path where it is not in the folder of the command file, or "".
func withoutCmd(path string, args []string, exists func(string) bool, node func() string) (string, []string) {
	cut := strings.LastIndexAny(path, `\/`) + 1
	dir, script := path[:cut], ""
	switch strings.ToLower(path[cut:]) {
	case "npx.cmd":
		script = dir + `node_modules\npm\bin\npx-cli.js`
	case "npm.cmd":
		script = dir + `node_modules\npm\bin\npm-cli.js`
	}
	if script == "" || !exists(script) {
		return path, args
	}
	program := dir + "node.exe"
	if !exists(program) {
		if program = node(); program == "" {
			return path, args
		}
	}
	return program, append([]string{script}, args...)
}
