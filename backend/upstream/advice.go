package upstream

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

var (
	missingValue = osutil.LazyRegexp(`(?i)\b(?:required|missing|not set|not provided|provided|unset|not defined|must (?:be|provide|set)|needs?|please|specify|expected|undefined|KeyError|NotPresent|not found|set [A-Z]\w+)\b|\bno .{0,30}(?:key|token|credentials?)\b`)
	credential   = osutil.LazyRegexp(`(?i)\b(?:api.?key|access.?token|token|secret|password|credentials?)\b`)
	secretEnding = osutil.LazyRegexp(`(?:KEY|TOKEN|SECRET|PASSWORD|PAT|CREDENTIALS)$`)
	secretFlag   = osutil.LazyRegexp(`(--[a-z][\w-]*(?:key|token|secret|password))\b`)
	notFoundHere = osutil.LazyRegexp(`(?:^|/)(?:sh|bash|dash|zsh|env): (?:line )?(?:\d+: )?[‘'"]?([\w@./+-]+)[’'"]?: (?:command not found|not found|No such file)|zsh:\d*: ?command not found: (\S+)|spawn ([\w./+-]+) ENOENT|^'([\w.+-]+)' is not recognized|exec: "([\w.+-]+)": executable file not found in`)
	portInUse    = osutil.LazyRegexp(`(?i)EADDRINUSE|address already in use|port \d+ is (?:already )?in use|only one usage of each socket`)
	nodeModule   = osutil.LazyRegexp(`Cannot find (?:module|package) ['"]([^'"]+)['"]`)
	pyModule     = osutil.LazyRegexp(`No module named ['"]?([\w.]+)`)
	noFile       = osutil.LazyRegexp(`(?:ENOENT: no such file or directory, \w+ ['"]([^'"]+)['"]|can't open file ['"]([^'"]+)['"]|No such file or directory: ['"]([^'"]+)['"]|Unable to access jarfile (\S+)|cd: (\S+): No such file)`)
	noAccess     = osutil.LazyRegexp(`(?:EACCES|EPERM): [\w ]+, \w+ ['"]([^'"]+)['"]|Permission denied: ['"]([^'"]+)['"]|(\S+): Permission denied`)
	badOption    = osutil.LazyRegexp(`(?i)\b(?:unknown|unrecognized|invalid|bad) (?:command.line )?(?:options?|flags?|arguments?|shorthand|command)\b|too many arguments|flag provided but not defined|required argument|arguments are required|unexpected argument\b`)
	dockerDown   = osutil.LazyRegexp(`Cannot connect to the Docker daemon|docker daemon is not running|error during connect|failed to connect to the docker API`)
	dockerDenied = osutil.LazyRegexp(`permission denied while trying to connect to the [Dd]ocker`)
	dockerImage  = osutil.LazyRegexp(`pull access denied for (\S+?),|manifest for (\S+) not found|manifest unknown`)
	noNetwork    = osutil.LazyRegexp(`ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ERR_SOCKET_TIMEOUT|no such host|Temporary failure in name resolution|getaddrinfo|fetch failed`)
	refusedHere  = osutil.LazyRegexp(`ECONNREFUSED (\S+:\d+)|(?:dial tcp |to )(\S+:\d+):.*(?:connection|actively) refused`)
	outOfMemory  = osutil.LazyRegexp(`heap out of memory|MemoryError|OutOfMemoryError`)
)

// Advice returns what the user can do about reason, the result of DecisiveLine, in full sentences
// and for programs. lines are those from which DecisiveLine picked it, and command is the command
// that was started. The results are zero if nothing is known.
func Advice(reason string, lines []string, command string) (hint string, remedy core.Remedy) {
	if reason == "" {
		return "", core.Remedy{}
	}
	if name := missingProgram(reason); name != "" {
		return InstallAdvice(name)
	}
	switch {
	case strings.Contains(reason, "npm error code E404"):
		return "Check the name of the package in args.", core.EditConfig("args")
	case strings.Contains(reason, "npm error code ETARGET"):
		return "Check the version of the package in args.", core.EditConfig("args")
	case strings.HasPrefix(reason, "npm error") && strings.Contains(reason, "could not determine executable"):
		return "The package has no program to run: check its name in args.", core.EditConfig("args")
	case dockerDown().MatchString(reason):
		return StartDockerAdvice("")
	case dockerDenied().MatchString(reason):
		return StartDockerAdvice("permission denied")
	case dockerImage().MatchString(reason):
		return "Check the name of the image in args; a private one needs docker login.", core.EditConfig("args")
	case portInUse().MatchString(reason):
		return "Another program is using the address. Stop that program, or give this server another port.", core.Remedy{Kind: core.RemedyFreePort}
	case outOfMemory().MatchString(reason):
		return "It exceeded its memory limit: for Node.js, set NODE_OPTIONS=--max-old-space-size=4096 in its env.", core.EditConfig("env")
	}
	if hint, remedy := missingModule(reason, command); hint != "" {
		return hint, remedy
	}
	if path := lastGroup(noFile, reason); path != "" || noFile().MatchString(reason) {
		return fmt.Sprintf("Correct the path in args, env or cwd, or create %s.", firstNonEmptyGroup(noFile().FindStringSubmatch(reason))), core.EditConfig("args")
	}
	if m := noAccess().FindStringSubmatch(reason); m != nil {
		path := firstNonEmptyGroup(m)
		return fmt.Sprintf("Give your user account access to %s.", path), core.Remedy{Kind: core.RemedyAllowAccess, Name: path}
	}
	if hint, remedy := missingKey(reason, lines); hint != "" {
		return hint, remedy
	}
	switch {
	case badOption().MatchString(reason):
		return "Correct the server's args.", core.EditConfig("args")
	case refusedHere().MatchString(reason) && !strings.HasPrefix(reason, "npm error"):
		return nothingListens(refusedHere().FindStringSubmatch(reason)), core.EditConfig("env")
	case noNetwork().MatchString(reason):
		return "Check the network connection; behind a proxy, set HTTPS_PROXY in env.", core.Remedy{Kind: core.RemedyCheckNetwork}
	}
	return "", core.Remedy{}
}

// RemoteAdvice is Advice for a remote server, from the reason why it cannot be reached.
func RemoteAdvice(reason string) (hint string, remedy core.Remedy) {
	if m := refusedHere().FindStringSubmatch(reason); m != nil {
		return nothingListens(m), core.EditConfig("url")
	} else if noNetwork().MatchString(reason) {
		return "Check its address and the network connection. Drawbridge tries again by itself.", core.EditConfig("url")
	}
	return "", core.Remedy{}
}

func nothingListens(match []string) string {
	return fmt.Sprintf("Nothing listens on %s: start it, or change the address.", firstNonEmptyGroup(match))
}

// missingProgram returns the program that a reason reports as missing, or "".
func missingProgram(reason string) string {
	return strings.TrimPrefix(firstNonEmptyGroup(notFoundHere().FindStringSubmatch(reason)), "./")
}

func firstNonEmptyGroup(m []string) string {
	for _, text := range m[min(1, len(m)):] {
		if text != "" {
			return strings.TrimSuffix(text, ":")
		}
	}
	return ""
}

func missingModule(reason, command string) (hint string, remedy core.Remedy) {
	if m := nodeModule().FindStringSubmatch(reason); m != nil {
		if filepath.IsAbs(m[1]) || strings.HasPrefix(m[1], "/") || strings.HasPrefix(m[1], "file:") {
			return fmt.Sprintf("Correct the path in args: %s does not exist; if the server is your own, build it first.", m[1]), core.EditConfig("args")
		}
		if strings.HasPrefix(m[1], ".") {
			return "The server's files are incomplete: build or install it again.", core.Remedy{Kind: core.RemedySeeLog}
		}
		return fmt.Sprintf("Install the package %s: run npm install in the server's folder.", m[1]),
			core.Remedy{Kind: core.RemedyInstallPackage, Name: m[1], Command: "npm install"}
	}
	if m := pyModule().FindStringSubmatch(reason); m != nil {
		python := "python3"
		if name := filepath.Base(command); strings.HasPrefix(name, "python") {
			python = command
		}
		module, _, _ := strings.Cut(m[1], ".")
		install := fmt.Sprintf("%s -m pip install %s", python, strings.ReplaceAll(module, "_", "-"))
		return fmt.Sprintf("Install the package that contains the module %s for this Python, for example with: %s. If it is installed in a virtual environment, set command to the Python of that environment.", module, install),
			core.Remedy{Kind: core.RemedyInstallPackage, Name: module, Command: install}
	}
	return "", core.Remedy{}
}

// missingKey returns how to set the key or variable that the reason reports as missing, or "".
func missingKey(reason string, lines []string) (hint string, remedy core.Remedy) {
	if !missingValue().MatchString(reason) {
		return "", core.Remedy{}
	}
	names := variableNames(reason)
	secret := credential().MatchString(reason)
	if len(names) == 0 && secret {
		for _, line := range lines {
			for _, name := range variableNames(line) {
				if secretEnding().MatchString(name) {
					names = append(names, name)
				}
			}
			if len(names) > 0 {
				names = names[:1]
				break
			}
		}
	}
	switch {
	case len(names) == 0 && secret:
		if flag := secretFlag().FindString(reason); flag != "" {
			return fmt.Sprintf("Add %s=${secret:NAME} to the server's args; store the value with: drawbridge secret set NAME", flag), core.EditConfig("args")
		}
		return "", core.Remedy{}
	case len(names) == 0:
		return "", core.Remedy{}
	}
	name := names[0]
	remedy = core.Remedy{Kind: core.RemedySetVariable, Name: name}
	if secretEnding().MatchString(name) {
		return fmt.Sprintf("Store the value with: drawbridge secret set %s. Then add \"%s\": \"${secret:%s}\" to the server's env, or under Environment on its page in Drawbridge.", name, name, name), remedy
	}
	return fmt.Sprintf("Set %s in the server's env, or under Environment on its page in Drawbridge.", name), remedy
}

var servesHTTP = osutil.LazyRegexp(`(?i)\b(?:listen\w*|running|run on|started|serving|available|ready|uvicorn|server|endpoint|local)\b.{0,80}?(https?)://(localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\])(:\d+)?(/[\w./-]*)?`)

// HTTPModeAdvice returns the advice for a server that does not answer on its standard input, if its
// last lines name the address at which it serves HTTP instead.
func HTTPModeAdvice(lines []string) (hint string, remedy core.Remedy) {
	for n := len(lines) - 1; n >= 0; n-- {
		if m := servesHTTP().FindStringSubmatch(lines[n]); m != nil {
			host := strings.NewReplacer("0.0.0.0", "127.0.0.1", "[::]", "127.0.0.1").Replace(m[2])
			address := m[1] + "://" + host + m[3] + strings.TrimRight(m[4], ".")
			return fmt.Sprintf("It serves HTTP instead of its standard input: add \"url\": \"%s\" with the path of its MCP endpoint beside its command, or start it in its stdio mode.", address), core.EditConfig("url")
		}
	}
	return "", core.Remedy{}
}

// StartDockerAdvice returns how to make Docker available after it failed with the error text said.
func StartDockerAdvice(said string) (hint string, remedy core.Remedy) {
	return startDockerAdvice(runtime.GOOS, said)
}

func startDockerAdvice(goos, said string) (hint string, remedy core.Remedy) {
	const start, group = "sudo systemctl start docker", "sudo usermod -aG docker $USER"
	switch {
	case goos == "linux" && strings.Contains(said, "permission"):
		return "Add yourself to the docker group, and log in again: " + group, core.Remedy{Kind: core.RemedyAllowDocker, Command: group}
	case goos == "linux":
		return "Start Docker: " + start, core.Remedy{Kind: core.RemedyStartDocker, Command: start}
	}
	return "Start Docker Desktop.", core.Remedy{Kind: core.RemedyStartDocker}
}

// InstallAdvice returns how to install a program that servers commonly need on this system, and general
// advice for an unknown program.
func InstallAdvice(program string) (hint string, remedy core.Remedy) {
	return install(program, runtime.GOOS, func(name string) bool {
		_, err := exec.LookPath(name)
		return err == nil
	})
}

// recipe describes a program: its product, its documentation, and its name in each package
// manager, "" if the manager does not have it.
type recipe struct {
	product, address               string
	apt, dnf, pacman, brew, winget string
	unix                           string // a command for systems without a suitable package manager
}

var (
	nodejs = recipe{product: "Node.js", address: "https://nodejs.org", apt: "nodejs npm", dnf: "nodejs", pacman: "nodejs npm", brew: "node", winget: "OpenJS.NodeJS.LTS"}
	uv     = recipe{product: "uv", address: "https://docs.astral.sh/uv", dnf: "uv", pacman: "uv", brew: "uv", winget: "astral-sh.uv", unix: "curl -LsSf https://astral.sh/uv/install.sh | sh"}
	python = recipe{product: "Python 3", address: "https://www.python.org/downloads", apt: "python3 python3-pip", dnf: "python3", pacman: "python", brew: "python", winget: "Python.Python.3.13"}
	docker = recipe{product: "Docker", address: "https://docs.docker.com/get-docker", brew: "--cask docker", winget: "Docker.DockerDesktop"}
	bun    = recipe{product: "Bun", address: "https://bun.sh", brew: "oven-sh/bun/bun", winget: "Oven-sh.Bun", unix: "curl -fsSL https://bun.sh/install | bash"}
	deno   = recipe{product: "Deno", address: "https://deno.com", brew: "deno", winget: "DenoLand.Deno", unix: "curl -fsSL https://deno.land/install.sh | sh"}
	pipx   = recipe{product: "pipx", address: "https://pipx.pypa.io", apt: "pipx", dnf: "pipx", pacman: "python-pipx", brew: "pipx"}
	golang = recipe{product: "Go", address: "https://go.dev/dl", dnf: "golang", pacman: "go", brew: "go", winget: "GoLang.Go"}
)

var recipes = map[string]recipe{
	"npx": nodejs, "node": nodejs, "npm": nodejs, "uvx": uv, "uv": uv, "python3": python, "python": python, "pip": python, "pip3": python,
	"docker": docker, "bunx": bun, "bun": bun, "deno": deno, "pipx": pipx, "go": golang,
}

func install(program, goos string, has func(string) bool) (hint string, remedy core.Remedy) {
	name := strings.ToLower(filepath.Base(program))
	for _, suffix := range []string{".exe", ".cmd"} {
		name = strings.TrimSuffix(name, suffix)
	}
	r, known := recipes[name]
	if !known {
		return "Install " + name + ", or set command to its full path.", core.EditConfig("command")
	}
	remedy = core.Remedy{Kind: core.RemedyInstallProgram, Name: r.product, URL: r.address}
	for _, way := range []struct{ system, manager, command, pkg string }{
		{"windows", "winget", "winget install ", r.winget},
		{"darwin", "brew", "brew install ", r.brew},
		{"linux", "apt-get", "sudo apt install ", r.apt},
		{"linux", "dnf", "sudo dnf install ", r.dnf},
		{"linux", "pacman", "sudo pacman -S ", r.pacman},
	} {
		if way.system == goos && way.pkg != "" && has(way.manager) {
			remedy.Command = way.command + way.pkg
			break
		}
	}
	if remedy.Command == "" && goos != "windows" {
		remedy.Command = r.unix
	}
	if remedy.Command == "" {
		return "Install " + r.product + ": " + r.address, remedy
	}
	return "Install " + r.product + ": " + remedy.Command + " (" + r.address + ").", remedy
}

var (
	npmErrorPrefix = osutil.LazyRegexp(`^npm (?:error|ERR!)(?: |$)`)
	npmCode        = osutil.LazyRegexp(`^code (E?[A-Z0-9_]+)$`)
	// npmFact matches lines with details that do not help the user.
	npmFact = osutil.LazyRegexp(`^(?:syscall|errno|path|dest|code|signal|process terminated|gyp|command|cwd|stack|at|\d{3}|A complete log|Log files|    )(?: |$)`)
)

// NpmFailure returns why npm failed according to the last lines of stderr: its error code and the
// first sentence after it. It returns "" if npm has not failed.
func NpmFailure(lines []string) string {
	text, _ := npmFailure(lines)
	return text
}

func npmFailure(lines []string) (text, code string) {
	said := ""
	for _, line := range lines {
		head := npmErrorPrefix().FindString(line)
		if head == "" {
			continue
		}
		text := strings.TrimSpace(line[len(head):])
		if c := npmCode().FindStringSubmatch(text); c != nil {
			code, said = c[1], ""
			continue
		}
		if status, rest, ok := strings.Cut(text, " "); ok && len(status) == 3 && strings.Trim(status, "0123456789") == "" {
			text = strings.TrimSpace(rest) // 404 Not Found - GET ...
		}
		if said == "" && text != "" && !npmFact().MatchString(text) {
			said = text
		}
	}
	switch {
	case code == "" && said == "":
		return "", ""
	case code == "":
		return "npm error: " + said, ""
	case said == "":
		return "npm error code " + code, code
	}
	return fmt.Sprintf("npm error code %s: %s", code, said), code
}
