package clientconf

import (
	"cmp"
	"encoding/base64"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// This file reads the texts that are no blocks: command lines, the "add" commands and the install links
// of other programs, and URLs. Nothing is run, and no request is sent.

// pasted returns the server as one that was pasted, under a valid name.
func (s NewServer) pasted() ImportedServer {
	name := serverName(s.Name)
	raw, err := core.EncodeJSON(configEntry{Type: s.Type, Command: s.Command, Args: s.Args, URL: s.URL, Env: s.Env, Headers: s.Headers})
	i := ImportedServer{Client: pastedClient, Name: name, Label: name, Entry: raw, literal: raw, original: raw}
	if err == nil && isOurs(raw) {
		err = errOurs
	}
	if err = cmp.Or(err, checkEntry(name, raw)); err != nil {
		i.Entry, i.SkipReason = nil, err.Error()
	}
	return i
}

// readCommandLines returns the servers that the lines start or add. Lines that only install something are
// omitted; if any other line is no command, there are no servers.
func readCommandLines(text string) (all []ImportedServer) {
	for _, line := range commandLines(text) {
		words := ShellWords(line)
		if isInstallation(words) {
			continue
		}
		s, ok := readCommand(words)
		if !ok {
			return nil
		}
		all = append(all, s.pasted())
	}
	return all
}

var assignment = osutil.LazyRegexp(`^[A-Za-z_][A-Za-z0-9_]*=`)

func readCommand(words []string) (s NewServer, ok bool) {
	if len(words) > 2 && slices.Contains([]string{"claude", "codex", "gemini", "qwen", "cursor-agent", "amp"}, words[0]) && words[1] == "mcp" && words[2] == "add" {
		return readAdder(words[3:])
	}
	s.Env = map[string]string{}
	for len(words) > 0 && (words[0] == "env" || assignment().MatchString(words[0])) {
		if name, value, found := strings.Cut(words[0], "="); found {
			s.Env[name] = value
		}
		words = words[1:]
	}
	if len(words) == 0 || !isProgramWord(words[0]) || looksLikeProse(words) {
		return s, false
	}
	s.Name, s.Command, s.Args = CommandName(words), words[0], words[1:]
	return s, true
}

// readAdder reads the arguments of "claude mcp add [OPTIONS] NAME [OPTIONS] -- COMMAND…" and its variants.
func readAdder(words []string) (s NewServer, ok bool) {
	s.Env, s.Headers = map[string]string{}, map[string]string{}
	var rest []string
	for i := 0; i < len(words); i++ {
		word := words[i]
		if word == "--" {
			rest = append(rest, words[i+1:]...)
			break
		}
		flag, value, inline := word, "", false
		if strings.HasPrefix(word, "--") {
			flag, value, inline = strings.Cut(word, "=")
		}
		isFlag := slices.Contains([]string{"-e", "--env", "-H", "--header", "-t", "--transport", "--url", "-s", "--scope", "--timeout"}, flag)
		isCommand := len(rest) > 1 && !IsURL(rest[1])
		if isFlag && !isCommand && !inline && i+1 < len(words) {
			i++
			value = words[i]
		}
		switch {
		case isCommand:
			rest = append(rest, word)
		case flag == "-e" || flag == "--env":
			name, text, _ := strings.Cut(value, "=")
			s.Env[name] = text
		case flag == "-H" || flag == "--header":
			name, text, _ := strings.Cut(value, ":")
			s.Headers[strings.TrimSpace(name)] = strings.TrimSpace(text)
		case flag == "-t" || flag == "--transport":
			s.Type = value
		case flag == "--url":
			rest = append(rest, value)
		case !strings.HasPrefix(word, "-"):
			rest = append(rest, word)
		}
	}
	if len(rest) < 2 || rest[0] == "" {
		return s, false
	}
	if s.Name = rest[0]; IsURL(rest[1]) {
		s.URL, s.Env = rest[1], nil
	} else {
		s.Command, s.Args, s.Headers = rest[1], rest[2:], nil
	}
	if s.URL == "" || s.Type != "sse" {
		s.Type = ""
	}
	return s, true
}

var installers = map[string][]string{
	"npm": {"install", "i", "ci", "add"}, "pnpm": {"install", "i", "add"}, "yarn": {"install", "add", "global"}, "bun": {"install", "i", "add"},
	"pip": {"install"}, "pip3": {"install"}, "pipx": {"install"}, "brew": {"install", "tap"}, "cargo": {"install"}, "go": {"install", "get"}, "gem": {"install"},
	"apt": {"install", "update"}, "apt-get": {"install", "update"}, "git": {"clone"}, "docker": {"pull", "build"},
}

// isInstallation reports whether a command only installs something.
func isInstallation(words []string) bool {
	if len(words) > 1 && words[0] == "sudo" {
		words = words[1:]
	}
	switch {
	case len(words) < 2:
		return false
	case words[0] == "uv":
		return len(words) > 2 && (words[1] == "tool" || words[1] == "pip") && words[2] == "install"
	case strings.HasPrefix(words[0], "python"):
		return len(words) > 2 && words[1] == "-m" && words[2] == "pip"
	}
	return slices.Contains(installers[words[0]], words[1])
}

var (
	programWord = osutil.LazyRegexp(`^(?:[A-Za-z]:\\|[a-z0-9~$./\\][^\s"<>|;]*$)`)
	linkWord    = osutil.LazyRegexp(`^[a-z][a-z0-9+.-]*:(?:$|//|mcp/)`)
	argument    = osutil.LazyRegexp(`^-|[/\\=@]`)
	smallWord   = osutil.LazyRegexp(`(?i)^(?:the|an?|is|are|this|that|not|and|or|of|for|with|your?)$`)
	plainWord   = osutil.LazyRegexp(`^[\pL'’]+[.,:;!?]?$`)
	sentenceEnd = osutil.LazyRegexp(`[a-z][.,:;!?]$`)
	scriptName  = osutil.LazyRegexp(`[/\\]|\.(?:exe|cmd|bat|js|py|sh)$`)
)

// isProgramWord reports whether a word can be a program, and is not the beginning of a sentence.
func isProgramWord(word string) bool {
	return !slices.Contains([]string{"cd", "export", "source", "set"}, word) && programWord().MatchString(word) && !linkWord().MatchString(word)
}

// looksLikeProse reports whether words are a sentence rather than a program with its arguments.
func looksLikeProse(words []string) bool {
	switch rest := words[1:]; {
	case config.IsLauncher(words[0]), scriptName().MatchString(words[0]), slices.ContainsFunc(rest, argument().MatchString):
		return false
	case slices.ContainsFunc(rest, smallWord().MatchString):
		return true
	case !slices.ContainsFunc(words, func(word string) bool { return !plainWord().MatchString(word) }):
		return len(words) > 3
	}
	return sentenceEnd().MatchString(words[len(words)-1])
}

// ShellWords splits a command line like a POSIX shell, without expanding anything.
func ShellWords(text string) (words []string) {
	var word strings.Builder
	var quote byte
	inWord := false
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for i := 0; i < len(text); i++ {
		c := text[i]
		isSpace := quote == 0 && strings.IndexByte(" \t\r\n", c) >= 0
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(text) && (quote == 0 || strings.IndexByte("\"\\$`\n", text[i+1]) >= 0):
			if i++; text[i] == '\n' { // the line continues
				continue
			}
			word.WriteByte(text[i])
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case !isSpace:
			word.WriteByte(c)
		case inWord:
			words = append(words, word.String())
			word.Reset()
		}
		inWord = !isSpace
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}

// commandLines splits a text into its command lines, without prompts and comments. A line continues after
// a backslash, within quotes, and if the next one begins with an option.
func commandLines(text string) []string {
	var commands, comments []string
	var quote byte
	start, isBlank := 0, true
	end := func(at, next int) {
		line := strings.TrimSpace(text[start:at])
		start, isBlank = next, true
		isComment := strings.HasPrefix(line, "#")
		if first, rest, _ := strings.Cut(line, " "); slices.Contains([]string{"$", ">", "#"}, first) {
			line = strings.TrimSpace(rest)
		}
		switch {
		case isComment:
			comments = append(comments, line)
		case line != "":
			commands = append(commands, line)
		}
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '#' && quote == 0 && isBlank: // quotes in a comment have no meaning
			if next := strings.IndexByte(text[i:], '\n'); next >= 0 {
				i += next - 1
			} else {
				i = len(text)
			}
		case c == '\\' && quote != '\'':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case strings.HasPrefix(text[i:], "&&"):
			end(i, i+2)
			i++
			continue
		case c == '\n' && !strings.HasPrefix(strings.TrimLeft(text[i+1:min(len(text), i+200)], " \t"), "-"):
			end(i, i+1)
			continue
		}
		isBlank = isBlank && (c == ' ' || c == '\t' || c == '\n')
	}
	end(len(text), len(text))
	if len(commands) == 0 {
		return comments // "# " can be the prompt of a root shell
	}
	return commands
}

var installLink = osutil.LazyRegexp("(?i)(?:^|[^a-z0-9+.-])([a-z][a-z0-9+.-]{1,30}:(?://|mcp/)[^\\s\"'`<>)]+)")

// readLink returns the servers of the first install link in text: of Cursor
// (cursor://anysphere.cursor-deeplink/mcp/install?name=…&config=BASE64), of VS Code
// (vscode:mcp/install?JSON), or one of the same form.
func readLink(text string) []ImportedServer {
	for _, found := range installLink().FindAllStringSubmatch(text, -1) {
		name, m := decodeLink(found[1], true)
		if m == nil {
			continue
		}
		// Cursor's links may contain the whole command line as the command.
		if command, _ := m["command"].(string); m["args"] == nil && !strings.HasPrefix(command, "/") && !strings.Contains(command, `:\`) {
			var words []any
			for _, word := range ShellWords(command) {
				words = append(words, word)
			}
			if len(words) > 1 {
				m["command"] = words
			}
		}
		all, err := findPasted(m)
		if err == nil && len(all) == 1 && name != "" {
			all[0].Name, all[0].Label = serverName(name), serverName(name)
		}
		return all
	}
	return nil
}

func decodeLink(text string, outer bool) (name string, m map[string]any) {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme == "http" || u.Scheme == "https") && !slices.Contains([]string{"cursor.com", "www.cursor.com", "vscode.dev", "insiders.vscode.dev"}, u.Host) {
		return "", nil
	}
	query := u.Query()
	if inner := query.Get("url"); outer && IsApplicationLink(inner) {
		return decodeLink(inner, false)
	}
	if !strings.Contains(strings.ToLower(u.Host+u.Opaque+u.Path), "mcp") {
		return "", nil
	}
	text = query.Get("config")
	if text == "" {
		text, err = url.PathUnescape(u.RawQuery)
	} else if !strings.HasPrefix(strings.TrimSpace(text), "{") { // a "+" in a query is read as a space
		var raw []byte
		raw, err = base64.RawURLEncoding.DecodeString(strings.TrimRight(strings.NewReplacer(" ", "-", "+", "-", "/", "_").Replace(text), "="))
		text = string(raw)
	}
	if err == nil {
		m, _ = decodeObject([]byte(text))
	}
	return query.Get("name"), m
}

var applicationLink = osutil.LazyRegexp(`(?i)^[a-z][a-z0-9+.-]+:(?://|mcp/)\S*$`)

// IsApplicationLink reports whether text is only a link that an application opens.
func IsApplicationLink(text string) bool {
	text = strings.TrimSpace(text)
	return applicationLink().MatchString(text) && !strings.HasPrefix(strings.ToLower(text), "http:") && !strings.HasPrefix(strings.ToLower(text), "https:")
}

// IsInstallLink reports whether text is a link that contains servers.
func IsInstallLink(text string) bool {
	return !strings.ContainsFunc(text, unicode.IsSpace) && len(readLink(text)) > 0
}

// IsURL reports whether text is the address of a server. One with variables is validated when it is used.
func IsURL(text string) bool {
	scheme, rest, _ := strings.Cut(strings.ToLower(text), "://")
	u, err := url.Parse(text)
	return (scheme == "http" || scheme == "https") && (strings.Contains(rest, "${") || err == nil && u.Host != "")
}

// URLName returns the significant part of a host: linear for https://mcp.linear.app/sse. It is "" without
// a host.
func URLName(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	host := u.Hostname()
	if net.ParseIP(host) != nil || host == "localhost" {
		return "local-" + u.Port()
	}
	parts := strings.Split(host, ".")
	if len(parts) > 1 {
		parts = parts[:len(parts)-1]
	}
	for _, part := range parts {
		if !slices.Contains([]string{"mcp", "www", "api"}, part) {
			return part
		}
	}
	return parts[0]
}

// entryName returns the name of an entry, or one for its URL or command.
func entryName(m map[string]any) string {
	words, _ := textList(firstMember(m, commandKeys...))
	if len(words) == 1 {
		words = config.SplitCommand(words[0])
	}
	args, _ := textList(m["args"])
	if words = append(words, args...); len(words) == 0 {
		words = []string{""}
	}
	return cmp.Or(firstString(m, "name"), URLName(firstString(m, addressKeys...)), CommandName(words))
}

// runnerSubcommands are arguments between a launcher and its package.
var runnerSubcommands = []string{"run", "exec", "dlx", "x", "tool", "compose", "container"}

// dockerSwitches are the flags of docker run without a value.
var dockerSwitches = []string{"-i", "-t", "-it", "-ti", "-d", "--rm", "--init", "--interactive", "--tty", "--privileged", "--read-only", "--detach"}

// CommandName returns the name for a command: its package, image or file.
func CommandName(command []string) string {
	if !config.IsLauncher(command[0]) {
		return packageName(command[0])
	}
	docker := slices.Contains([]string{"docker", "podman"}, command[0])
	words := command[1:]
	for i := 0; i < len(words); i++ {
		word := words[i]
		hasNext := i+1 < len(words)
		switch {
		case strings.EqualFold(word, "/c") && hasNext: // cmd /c npx …
			return CommandName(words[i+1:])
		case strings.HasPrefix(word, "-"):
			named := slices.Contains([]string{"--package", "--from", "-p", "-m"}, word) && hasNext
			if named && word == "-m" {
				return packageName(words[i+1])
			}
			if named || docker && !strings.Contains(word, "=") && !slices.Contains(dockerSwitches, word) {
				i++
			}
		case slices.Contains(runnerSubcommands, word):
		default:
			return packageName(word)
		}
	}
	return packageName(command[0])
}

var affixes = osutil.LazyRegexp(`^(?:mcp[-_]server[-_]|server-|mcp[-_])|(?:[-_]mcp[-_]server|-server-mcp|[-_]mcp|-server)$`)

// packageName returns the name of a package without scope, version and common affixes.
func packageName(text string) string {
	scope, name, scoped := strings.Cut(strings.TrimPrefix(text, "@"), "/")
	if !strings.HasPrefix(text, "@") || !scoped {
		name, scope = path.Base(strings.ReplaceAll(text, `\`, "/")), ""
	}
	name = strings.TrimLeft(name, "@:=")
	if end := strings.IndexAny(name, "@:="); end >= 0 {
		name = name[:end]
	}
	for _, end := range []string{".js", ".mjs", ".cjs", ".ts", ".py", ".exe", ".cmd", ".sh"} {
		name = strings.TrimSuffix(name, end)
	}
	if scope != "" && slices.Contains([]string{"mcp", "server", "mcp-server", ""}, name) {
		return scope
	}
	return cmp.Or(affixes().ReplaceAllString(name, ""), name)
}

var invalidInName = osutil.LazyRegexp(`[^A-Za-z0-9._-]+`)

func serverName(text string) string {
	name := strings.Trim(invalidInName().ReplaceAllString(text, "-"), "._-")
	return cmp.Or(name[:min(len(name), 60)], "server")
}
