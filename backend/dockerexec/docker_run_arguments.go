package dockerexec

import "strings"

// Options of the docker command. Flags take no value, all others take one. Short options are
// single letters.
var (
	globalFlags  = map[string]bool{"D": true, "debug": true, "tls": true, "tlsverify": true}
	globalValues = map[string]bool{"config": true, "c": true, "context": true, "H": true, "host": true, "l": true,
		"log-level": true, "tlscacert": true, "tlscert": true, "tlskey": true}
	runFlags = map[string]bool{"d": true, "detach": true, "disable-content-trust": true, "help": true, "i": true, "interactive": true,
		"init": true, "no-healthcheck": true, "oom-kill-disable": true, "P": true, "publish-all": true, "privileged": true,
		"q": true, "quiet": true, "read-only": true, "rm": true, "sig-proxy": true, "t": true, "tty": true, "use-api-socket": true}
)

// splitRun splits the arguments of docker into its global options, the verb ("run" or "container
// run"), the options of run, and the image with its command.
func splitRun(args []string) (globals, verb, options, rest []string, ok bool) {
	n := 0
	for n < len(args) && strings.HasPrefix(args[n], "-") {
		name, _, _ := strings.Cut(strings.TrimLeft(args[n], "-"), "=")
		if !strings.HasPrefix(args[n], "--") && len(name) > 1 {
			name = name[:1] // -Hunix:///var/run/docker.sock
		}
		if !globalFlags[name] && !globalValues[name] {
			return nil, nil, nil, nil, false
		}
		n += argCount(args[n], globalFlags)
	}
	if n >= len(args) {
		return nil, nil, nil, nil, false
	}
	globals, args = args[:n], args[n:]
	n = 1
	if args[0] == "container" && len(args) > 1 {
		n = 2
	}
	if args[n-1] != "run" {
		return nil, nil, nil, nil, false
	}
	verb, args = args[:n], args[n:]
	n = 0
	for n < len(args) && len(args[n]) > 1 && args[n][0] == '-' && args[n] != "--" {
		n += argCount(args[n], runFlags)
	}
	n = min(n, len(args))
	return globals, verb, args[:n], args[n:], true
}

// argCount returns the number of arguments that an option occupies: 2 if its value is the next
// argument.
func argCount(option string, flags map[string]bool) int {
	if long, ok := strings.CutPrefix(option, "--"); ok {
		if name, _, valued := strings.Cut(long, "="); valued || flags[name] {
			return 1
		}
		return 2
	}
	for i, letter := range option[1:] {
		if !flags[string(letter)] { // its value is the rest of the argument, or the next argument
			if i+2 < len(option) {
				return 1
			}
			return 2
		}
		if strings.HasPrefix(option[i+2:], "=") {
			return 1
		}
	}
	return 1
}

// withoutTerminal removes -t from the options of run. It reports whether it was set, and whether
// --cidfile is.
func withoutTerminal(options []string) (kept []string, terminal, cidfile bool) {
	for n := 0; n < len(options); {
		option, w := options[n], min(argCount(options[n], runFlags), len(options)-n)
		name, value, _ := strings.Cut(option, "=")
		switch {
		case name == "--tty":
			terminal = terminal || value != "false"
		case name == "--cidfile":
			cidfile = true
			kept = append(kept, options[n:n+w]...)
		case strings.HasPrefix(option, "--"):
			kept = append(kept, options[n:n+w]...)
		default:
			short, had := withoutTTYFlag(option)
			terminal = terminal || had
			if short != "-" {
				kept = append(append(kept, short), options[n+1:n+w]...)
			}
		}
		n += w
	}
	return kept, terminal, cidfile
}

// withoutTTYFlag removes the t from combined short options, such as -it, but not from a value,
// such as -eterm=x.
func withoutTTYFlag(word string) (short string, had bool) {
	short = "-"
	for i := 1; i < len(word); i++ {
		letter := word[i : i+1]
		switch {
		case !runFlags[letter]:
			return short + word[i:], had
		case letter == "t" && strings.HasPrefix(word[i+1:], "="):
			return short, had || word[i+1:] != "=false"
		case letter == "t":
			had = true
		case strings.HasPrefix(word[i+1:], "="):
			return short + word[i:], had
		default:
			short += letter
		}
	}
	return short, had
}

// RunImage returns the index of the image in the arguments of a docker run command.
func RunImage(args []string) (index int, ok bool) {
	_, _, _, rest, ok := splitRun(args)
	if !ok || len(rest) == 0 || strings.HasPrefix(rest[0], "-") {
		return 0, false
	}
	return len(args) - len(rest), true
}

// RunEngine returns the Engine that the arguments of a docker command select, or the zero Engine
// if they select none.
func RunEngine(args []string) (e Engine) {
	globals, _, _, _, _ := splitRun(args)
	for n := 0; n < len(globals); {
		w := min(argCount(globals[n], globalFlags), len(globals)-n)
		name, value, joined := strings.Cut(globals[n], "=")
		if short := globals[n]; !strings.HasPrefix(short, "--") && len(short) > 2 { // -Hunix:///s
			name, value, joined = short[:2], strings.TrimPrefix(short[2:], "="), true
		}
		if !joined && w == 2 {
			value = globals[n+1]
		}
		switch strings.TrimLeft(name, "-") {
		case "H", "host":
			e.Host = value
		case "c", "context":
			e.Context = value
		}
		n += w
	}
	return e
}

// RunsWithoutInput reports whether args of docker run a container without -i, so that it has no
// standard input.
func RunsWithoutInput(args []string) bool {
	_, _, options, _, ok := splitRun(args)
	for n := 0; n < len(options); n += argCount(options[n], runFlags) {
		name, value, _ := strings.Cut(options[n], "=")
		isShort := !strings.HasPrefix(name, "--")
		if name == "--interactive" && value != "false" || isShort && strings.Contains(shortFlags(name), "i") {
			return false
		}
	}
	return ok
}

// shortFlags returns the flags at the start of short options that are written together, such as "it"
// of "-ite".
func shortFlags(option string) string {
	letters := strings.TrimPrefix(option, "-")
	for i, letter := range letters {
		if !runFlags[string(letter)] {
			return letters[:i]
		}
	}
	return letters
}
