package process

import "strings"

// bypassNpmBatchFile replaces npm's batch files for Windows, npx.cmd and npm.cmd, by what they start:
// node and the script beside them. Arguments then reach npm unchanged, whereas cmd.exe interprets
// characters such as & and %. Other commands are returned unchanged.
//
// The batch files prefer a globally installed npm over the one beside them, which makes no
// difference to a server. exists reports whether a file exists; node returns the path of node if
// it is not in the folder of the batch file, or "".
func bypassNpmBatchFile(path string, args []string, exists func(string) bool, node func() string) (string, []string) {
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
