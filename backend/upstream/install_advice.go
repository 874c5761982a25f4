package upstream

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

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
