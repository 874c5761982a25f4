package launch

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// Command is a command line of npx that runs a package of a registry.
type Command struct {
	Packages []string // as npx names them
	Bin      string   // the program, or "" if the package decides
	Args     []string // of the program
}

// Options of npx that neither change what is run nor where it comes from, by whether they have a value.
var (
	switches = map[string]bool{
		"-y": true, "--yes": true, "--yes=true": true, "-q": true, "--quiet": true, "-s": true, "--silent": true, "--no-install": true, "--prefer-offline": true, "--offline": true,
		"--no-audit": true, "--no-fund": true, "--no-update-notifier": true, "--no-progress": true, "--loglevel=silent": true, "--loglevel=error": true,
	}
	withValue = map[string]bool{"--loglevel": true, "--registry": true, "--cache": true}
)

var (
	packageName  = osutil.LazyRegexp(`^(@[A-Za-z0-9~_-][A-Za-z0-9~_.-]*/)?[A-Za-z0-9~_][A-Za-z0-9~_.-]*$`)
	versionOrTag = osutil.LazyRegexp(`^[A-Za-z0-9^~<>=*][A-Za-z0-9^~<>=.*+| _-]*$`)
	archive      = osutil.LazyRegexp(`(?i)\.(tgz|tar|tar\.gz)$`)
	programName  = osutil.LazyRegexp(`^[A-Za-z0-9~_][A-Za-z0-9~_.-]*$`)
)

// ParseCommand returns what a command line of npx runs. why says why Drawbridge cannot start it itself;
// it is notLauncher if the command is no npx, in any form.
func ParseCommand(command string, args []string) (c Command, why string) {
	switch programOf(command) {
	case "cmd":
		return parseCmd(args)
	case "npx":
		return parseNpx(args, false)
	case "npm":
		if len(args) > 0 && (args[0] == "exec" || args[0] == "x") {
			return parseNpx(args[1:], true)
		}
	case "node", "nodejs":
		if len(args) > 0 && programOf(args[0]) == "npx-cli.js" {
			return parseNpx(args[1:], false)
		}
	}
	return c, notLauncher
}

const notLauncher = "it is not started with npx"

// programOf returns the name of a program on any system: without its folder and the endings of Windows.
func programOf(command string) string {
	name := strings.ToLower(filepath.Base(strings.ReplaceAll(command, `\`, "/")))
	for _, ending := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}

// parseCmd parses the arguments of cmd.exe, in which npx must be an argument of its own.
func parseCmd(args []string) (c Command, why string) {
	n := 0
	for n < len(args) && (strings.EqualFold(args[n], "/d") || strings.EqualFold(args[n], "/s")) {
		n++
	}
	if n+1 >= len(args) || !strings.EqualFold(args[n], "/c") {
		return c, notLauncher
	}
	if c, why = ParseCommand(args[n+1], args[n+2:]); why == notLauncher {
		return c, why
	}
	for _, arg := range args[n+2:] {
		if strings.ContainsAny(arg, "&|<>^%!\"\n") {
			return Command{}, "cmd interprets an argument"
		}
	}
	return c, why
}

// parseNpx parses the arguments of npx, or with exec those of npm exec. That reads its own options after
// the package, too, unless they follow --.
func parseNpx(args []string, exec bool) (c Command, why string) {
	n, ended := 0, false
	for ; n < len(args) && !ended && strings.HasPrefix(args[n], "-"); n++ {
		option, value, joined := strings.Cut(args[n], "=")
		named := option == "-p" || option == "--package"
		if (named || withValue[option]) && !joined {
			if n++; n == len(args) {
				return c, "an option has no value"
			}
			value = args[n]
		}
		switch {
		case option == "--":
			ended = true
		case named:
			c.Packages = append(c.Packages, value)
		case withValue[option] || switches[args[n]]:
		case option == "-c" || option == "--call":
			return c, "its command is run by a shell"
		case option == "--ignore-existing":
			return c, "--ignore-existing asks for a new copy at each start"
		default:
			return c, "the option " + option + " of npx is not known"
		}
	}
	if n == len(args) {
		return c, "it names no program"
	}
	first, rest := args[n], args[n+1:]
	if exec && !ended {
		before := rest
		if i := slices.Index(rest, "--"); i >= 0 {
			before, rest = rest[:i], slices.Delete(slices.Clone(rest), i, i+1)
		}
		if slices.ContainsFunc(before, func(arg string) bool { return strings.HasPrefix(arg, "-") }) {
			return c, "npm reads the options after the package: put -- before them"
		}
	}
	c.Args = rest
	switch {
	case len(c.Packages) == 0:
		c.Packages = []string{first}
	case programName().MatchString(first):
		c.Bin = first
	default:
		return c, "the program is not one of a package"
	}
	for _, one := range c.Packages {
		if !fromRegistry(one) {
			return c, "the package is a folder, a file, a URL or a repository"
		}
	}
	return c, ""
}

// fromRegistry reports whether the specification of a package names one of a registry, as npm reads it.
func fromRegistry(text string) bool {
	name, wanted := text, "latest"
	if i := strings.LastIndexByte(text, '@'); i > 0 {
		name, wanted = text[:i], text[i+1:]
	}
	return packageName().MatchString(name) && versionOrTag().MatchString(wanted) && !archive().MatchString(text)
}

// nameOf returns the name of the package in its specification.
func nameOf(spec string) string {
	if i := strings.LastIndexByte(spec, '@'); i > 0 {
		return spec[:i]
	}
	return spec
}
