package launch

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFormsOfNpxCommands says for each form of a command of npx what it runs, or why npx has to start it.
func TestFormsOfNpxCommands(t *testing.T) {
	const (
		noPackage = "the package is a folder, a file, a URL or a repository"
		noOption  = "the option "
	)
	for _, c := range []struct {
		line string // words between blanks; '' is an empty one, _ a blank in one
		want string // packages : program : arguments
		why  string
	}{
		{"npx srv", "srv::", ""},
		{"npx -y srv", "srv::", ""},
		{"npx --yes srv a b", "srv::a b", ""},
		{"npx --yes=true srv", "srv::", ""},
		{"npx -y srv@1.2.3", "srv@1.2.3::", ""},
		{"npx -y srv@latest -y --package=x -c", "srv@latest::-y --package=x -c", ""},
		{"npx -y srv@next", "srv@next::", ""},
		{"npx -y srv@^1.2", "srv@^1.2::", ""},
		{"npx -y srv@>=1_<2", "srv@>=1_<2::", ""},
		{"npx -y @scope/srv", "@scope/srv::", ""},
		{"npx -y @scope/srv@2", "@scope/srv@2::", ""},
		{"npx -y -- srv --flag", "srv::--flag", ""},
		{"npx -y srv -- --flag", "srv::-- --flag", ""},
		{"npx -y srv ''", "srv::", ""},
		{"npx -p @scope/srv run a", "@scope/srv:run:a", ""},
		{"npx -y --package @scope/srv@1 run", "@scope/srv@1:run:", ""},
		{"npx --package=srv -p=other run", "srv,other:run:", ""},
		{"npx -p srv -- run -x", "srv:run:-x", ""},
		{"npx -q --no-install srv", "srv::", ""},
		{"npx --prefer-offline --no-audit --loglevel error srv", "srv::", ""},
		{"npx --registry=http://r srv", "srv::", ""},
		{"npx --registry http://r --cache /c srv", "srv::", ""},
		{"/usr/local/bin/npx -y srv", "srv::", ""},
		{`C:\Program_Files\nodejs\npx.cmd -y srv`, "srv::", ""},
		{"NPX.CMD -y srv", "srv::", ""},
		{"npx.exe srv", "srv::", ""},
		{"npx.ps1 srv", "srv::", ""},
		{"cmd /c npx -y srv a", "srv::a", ""},
		{`C:\Windows\System32\cmd.exe /d /s /C npx.cmd -y srv`, "srv::", ""},
		{"npm exec -y -- srv --flag", "srv::--flag", ""},
		{"npm exec --yes --package=srv -- run --flag", "srv:run:--flag", ""},
		{"npm exec srv a", "srv::a", ""},
		{"npm x -- srv", "srv::", ""},
		{"npm exec srv -- --flag", "srv::--flag", ""},
		{"npm.cmd exec -- srv", "srv::", ""},
		{"/usr/bin/node /usr/lib/node_modules/npm/bin/npx-cli.js -y srv", "srv::", ""},

		{"npx", "", "it names no program"},
		{"npx -y", "", "it names no program"},
		{"npx -y --", "", "it names no program"},
		{"npx -p", "", "an option has no value"},
		{"npx -p srv", "", "it names no program"},
		{"npx --registry", "", "an option has no value"},
		{"npx -c srv", "", "its command is run by a shell"},
		{"npx -p srv --call=run", "", "its command is run by a shell"},
		{"npx --ignore-existing srv", "", "--ignore-existing asks for a new copy at each start"},
		{"npx --prefer-online srv", "", noOption + "--prefer-online of npx is not known"},
		{"npx -w pkg srv", "", noOption + "-w of npx is not known"},
		{"npx --node-arg=x srv", "", noOption + "--node-arg of npx is not known"},
		{"npx --userconfig=x srv", "", noOption + "--userconfig of npx is not known"},
		{"npx --prefix x srv", "", noOption + "--prefix of npx is not known"},
		{"npx --shell bash srv", "", noOption + "--shell of npx is not known"},
		{"npx --yes=false srv", "", noOption + "--yes of npx is not known"},
		{"npx - srv", "", noOption + "- of npx is not known"},
		{"npx .", "", noPackage},
		{"npx ..", "", noPackage},
		{"npx ./srv", "", noPackage},
		{"npx ../srv", "", noPackage},
		{"npx /opt/srv", "", noPackage},
		{"npx ~/srv", "", noPackage},
		{`npx C:\srv`, "", noPackage},
		{"npx srv.tgz", "", noPackage},
		{"npx srv.TAR.GZ", "", noPackage},
		{"npx srv@1.tgz", "", noPackage},
		{"npx user/repo", "", noPackage},
		{"npx user/repo#main", "", noPackage},
		{"npx github:user/repo", "", noPackage},
		{"npx git+https://x/y.git", "", noPackage},
		{"npx git@host:x/y.git", "", noPackage},
		{"npx https://x/srv.tgz", "", noPackage},
		{"npx file:srv", "", noPackage},
		{"npx srv@file:x", "", noPackage},
		{"npx srv@..", "", noPackage},
		{"npx srv@./x", "", noPackage},
		{"npx srv@npm:other@1", "", noPackage},
		{"npx srv@user/repo", "", noPackage},
		{"npx srv@", "", noPackage},
		{"npx @scope", "", noPackage},
		{"npx ''", "", noPackage},
		{"npx ${NAME}", "", noPackage},
		{"npx -p srv -p ./x run", "", noPackage},
		{"npx -p srv ./run.js", "", "the program is not one of a package"},
		{"npm exec -c run", "", "its command is run by a shell"},
		{"npm exec srv --flag", "", "npm reads the options after the package: put -- before them"},
		{"npm --prefix x exec srv", "", notLauncher},
		{"cmd /c npx -y srv a&b", "", "cmd interprets an argument"},
		{"cmd /c npx -y srv %PATH%", "", "cmd interprets an argument"},

		{"cmd /c npx_-y_srv", "", notLauncher},
		{"cmd /k npx srv", "", notLauncher},
		{"cmd", "", notLauncher},
		{"npm start", "", notLauncher},
		{"npm run exec-it", "", notLauncher},
		{"node srv.js", "", notLauncher},
		{"node", "", notLauncher},
		{"bunx srv", "", notLauncher},
		{"pnpm dlx srv", "", notLauncher},
		{"pnpx srv", "", notLauncher},
		{"yarn dlx srv", "", notLauncher},
		{"uvx srv", "", notLauncher},
		{"pipx run srv", "", notLauncher},
		{"env npx srv", "", notLauncher},
		{"sh -c npx_srv", "", notLauncher},
		{"/opt/npx/run srv", "", notLauncher},
		{"''", "", notLauncher},
	} {
		words := strings.Fields(c.line)
		for i, w := range words {
			words[i] = strings.ReplaceAll(strings.ReplaceAll(w, "_", " "), "''", "")
		}
		got, why := ParseCommand(words[0], words[1:])
		text := ""
		if why == "" {
			text = strings.Join(got.Packages, ",") + ":" + got.Bin + ":" + strings.Join(got.Args, " ")
		}
		assert.Equal(t, strings.ReplaceAll(c.want, "_", " "), text, c.line)
		assert.Equal(t, c.why, why, c.line)
	}
}

// FuzzParseCommand: whatever is accepted names packages of a registry, and its arguments are the last ones
// of the command, in their order.
func FuzzParseCommand(f *testing.F) {
	for _, seed := range []string{"npx\n-y\nsrv@1\na\n\nb", "npm\nexec\nsrv\na\n--\n-b", "cmd\n/c\nnpx\n-p\n@a/b\nrun", "npx\n--package=git+ssh://x\nrun", "node\nnpx-cli.js\nsrv", "npx\n--\n-"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Split(line, "\n")
		c, why := ParseCommand(words[0], words[1:])
		if why != "" {
			return
		}
		require.NotEmptyf(t, c.Packages, "%q: no packages", words)
		for _, one := range c.Packages {
			if strings.ContainsAny(one, ":\\#$%&;\x00") || strings.Count(one, "/") > strings.Count(one[:1], "@") || strings.HasPrefix(one, ".") || strings.HasPrefix(one, "-") {
				t.Errorf("%q: package %q", words, one)
			}
		}
		rest := words
		for _, arg := range slices.Backward(c.Args) {
			at := len(rest) - 1
			for at >= 0 && rest[at] != arg {
				require.Equalf(t, "--", rest[at], "%q: arguments %q", words, c.Args)
				at--
			}
			rest = rest[:max(at, 0)]
		}
	})
}
