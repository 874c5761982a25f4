package process

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNpmCommandFilesRunWithoutCmdInterpreter(t *testing.T) {
	t.Parallel()
	const nodejs, global = `C:\Program Files\nodejs\`, `C:\Users\a b\AppData\Roaming\npm\`
	files := []string{
		nodejs + "node.exe", nodejs + "npx.cmd", nodejs + "npm.cmd", global + "npx.cmd",
		nodejs + `node_modules\npm\bin\npx-cli.js`, nodejs + `node_modules\npm\bin\npm-cli.js`,
		global + `node_modules\npm\bin\npx-cli.js`,
	}
	exists := func(path string) bool { return slices.Contains(files, path) }
	args := []string{"-y", `pkg@1 & % " < > | ^ !`}
	for _, c := range []struct {
		path, node, program, script string
	}{
		{nodejs + "npx.cmd", "", nodejs + "node.exe", nodejs + `node_modules\npm\bin\npx-cli.js`},
		{nodejs + "NPX.CMD", "", nodejs + "node.exe", nodejs + `node_modules\npm\bin\npx-cli.js`},
		{nodejs + "npm.cmd", "", nodejs + "node.exe", nodejs + `node_modules\npm\bin\npm-cli.js`},
		{global + "npx.cmd", nodejs + "node.exe", nodejs + "node.exe", global + `node_modules\npm\bin\npx-cli.js`},
		{global + "npx.cmd", "", global + "npx.cmd", ""},           // no node
		{`C:\scoop\npx.cmd`, "x", `C:\scoop\npx.cmd`, ""},          // not npm's own
		{nodejs + "tsx.cmd", "x", nodejs + "tsx.cmd", ""},          // another program
		{nodejs + "npx.exe", "x", nodejs + "npx.exe", ""},          // not a batch file
		{"npx.cmd", nodejs + "node.exe", "npx.cmd", ""},            // its folder is unknown
		{global + "npm.cmd", nodejs + "x", global + "npm.cmd", ""}, // incomplete npm
	} {
		program, got := bypassNpmBatchFile(c.path, args, exists, func() string { return c.node })
		want := args
		if c.script != "" {
			want = append([]string{c.script}, args...)
		}
		assert.Equal(t, c.program, program, c.path)
		assert.Equal(t, want, got, c.path)
	}
}

func TestCmdIsLeftOutUnlessItHasMoreToDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, args string
		ok         bool
	}{
		{`C:\Windows\System32\cmd.exe`, "/c npx -y a&b", true}, {"CMD", "/C npx", true},
		{"cmd.exe", "/c npx %APPDATA%", false}, {"cmd.exe", "/c", false}, {"cmd.exe", "/k npx", false}, {"node.exe", "/c npx", false},
	} {
		args := strings.Fields(c.args)
		command, rest, ok := cmdCommand(c.path, args)
		assert.Truef(t, ok == c.ok && !(ok && (command != "npx" || !slices.Equal(rest, args[2:]))), "%s %s: %s %q %v", c.path, c.args, command, rest, ok)
	}
}
