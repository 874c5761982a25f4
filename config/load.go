package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"

	"github.com/goccy/go-yaml"
)

type text struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// EnvServers is the environment variable with servers as a JSON array, each with a "name".
const EnvServers = "DRAWBRIDGE_MCP_SERVERS"

// Sources lists where the configuration comes from. A higher source replaces a lower one: JSON
// replaces the servers of all files, File replaces DefaultFile and ConfDir.
type Sources struct {
	JSON        string // the value of EnvServers
	File        string // --config or DRAWBRIDGE_CONFIG; must exist
	DefaultFile string // may be missing: no servers
	ConfDir     string // its *.json, *.jsonc, *.yaml and *.yml in name order, after DefaultFile
}

// SourcesFor computes the sources from the --config flag ("" when absent) and the environment.
func SourcesFor(configFlag string, f Folders, env func(string) string) Sources {
	return Sources{
		JSON:        strings.TrimSpace(env(EnvServers)),
		File:        cmp.Or(configFlag, env("DRAWBRIDGE_CONFIG")),
		DefaultFile: f.ConfigFile(),
		ConfDir:     f.ConfDir(),
	}
}

// Main is the file that edits are written to.
func (s Sources) Main() string { return cmp.Or(s.File, s.DefaultFile) }

// Paths lists the files to read: those that exist now, and File or DefaultFile in any case.
func (s Sources) Paths() ([]string, error) {
	paths := []string{s.Main()}
	if s.File != "" || s.ConfDir == "" {
		return paths, nil
	}
	entries, err := os.ReadDir(s.ConfDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if IsConfigFile(e.Name()) && !e.IsDir() {
			paths = append(paths, filepath.Join(s.ConfDir, e.Name()))
		}
	}
	return paths, nil
}

// IsConfigFile reports whether a file called name in a conf.d folder is a configuration
// file. Hidden files and the backups of editors are not.
func IsConfigFile(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return !strings.HasPrefix(name, ".") && slices.Contains([]string{".json", ".jsonc", ".yaml", ".yml"}, ext)
}

// Load reads all sources. The error is Problems: the configuration is refused as
// a whole and Config is nil. A missing DefaultFile is an empty configuration.
func (s Sources) Load() (*Config, error) {
	texts, unread := s.read()
	c, problems := parseAll(texts, s.JSON)
	if c != nil && len(unread) == 0 {
		return c, nil
	}
	ofFiles := append(unread, problems...)
	if s.JSON == "" {
		return nil, Problems(ofFiles)
	}
	// Servers from the environment are valid regardless of errors in the files.
	if c, problems = parseAll(nil, s.JSON); c == nil {
		return nil, Problems(problems)
	}
	c.FilesIgnored = true
	if len(unread) > 0 || slices.ContainsFunc(texts, mayRestrictClients) {
		c.VisibilityUnknown = UnknownVisibility(ofFiles)
	}
	for _, p := range ofFiles {
		if p.File != EnvServers {
			p.Warning, p.Suggestion = true, "ignored, because "+EnvServers+" is set"
			c.Problems = append(c.Problems, p)
		}
	}
	return c, nil
}

// UnknownVisibility returns the text of Config.VisibilityUnknown for the problems of files.
func UnknownVisibility(problems []Problem) string {
	const sentence = "cannot read the configuration, so the profile of this client is unknown"
	for _, p := range problems {
		if p.File != EnvServers && !p.Warning {
			if p.Line == 0 {
				return sentence + ": fix " + filepath.Base(p.File)
			}
			return fmt.Sprintf("%s: fix line %d of %s", sentence, p.Line, filepath.Base(p.File))
		}
	}
	return sentence
}

// mayRestrictClients reports whether an invalid text may restrict what clients may use. It searches
// for the keys as words, because an invalid text cannot be parsed.
func mayRestrictClients(t text) bool {
	for _, word := range []string{"clients", "profiles", `\u`} {
		if strings.Contains(t.Text, word) {
			return true
		}
	}
	if filepath.Ext(t.Path) == ".json" || filepath.Ext(t.Path) == ".jsonc" {
		return false
	}
	for _, hidden := range []string{`\x`, `\U`, "\\\n", "\\\r", "!!binary"} { // YAML can spell a word by escapes and across lines
		if strings.Contains(t.Text, hidden) {
			return true
		}
	}
	return false
}

func (s Sources) read() ([]text, []Problem) {
	paths, err := s.Paths()
	if err != nil {
		return nil, []Problem{unreadable(s.ConfDir, err)}
	}
	var texts []text
	var problems []Problem
	for _, path := range paths {
		src, err := ReadFile(path)
		switch {
		case err == nil:
			texts = append(texts, text{path, string(src)})
		case errors.Is(err, fs.ErrNotExist) && s.File == "":
			// The default file need not exist; a file of ConfDir may just have been removed.
		default:
			problems = append(problems, unreadable(path, err))
		}
	}
	return texts, problems
}

// ReadFile reads a configuration file. It refuses everything except regular files, because opening a
// named pipe may block forever, and a device may be endless; and a file that other users could write.
func ReadFile(path string) ([]byte, error) {
	refused := func(why string) ([]byte, error) {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New(why)}
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return refused("it is a folder")
	case !info.Mode().IsRegular():
		return refused("it is a pipe or a device")
	case info.Size() > maxFile:
		return refused(fmt.Sprintf("it is larger than %d MiB; is this the right file?", maxFile>>20))
	}
	if err := checkWriters(path, info); err != nil {
		return refused(err.Error())
	}
	return osutil.ReadFile(path)
}

func unreadable(path string, err error) Problem {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	p := Problem{File: path, Message: "cannot read file: " + err.Error()}
	if errors.Is(err, fs.ErrNotExist) {
		p.Suggestion = "check its path; without one, the files in use are validated"
	}
	return p
}

// parseAll reads texts as one configuration, which contains all problems.
func parseAll(texts []text, serversJSON string) (*Config, []Problem) {
	var problems []Problem
	var documents []document
	for _, t := range texts {
		root, problem := tree(t.Path, []byte(t.Text))
		if problem != nil {
			problems = append(problems, *problem)
			continue
		}
		documents = append(documents, document{t.Path, root})
	}
	var servers *document
	if serversJSON != "" {
		root, problem := tree(EnvServers, []byte(serversJSON))
		switch {
		case problem != nil:
			problems = append(problems, *problem)
		case root.kind != kindList && root.kind != kindObject:
			problems = append(problems, *refuse(root.at, "must be a JSON array of servers", ""))
		default:
			servers = &document{EnvServers, root}
		}
	}
	c, more := build(documents, servers)
	if problems = append(problems, more...); c == nil || len(problems) > len(more) {
		return nil, problems
	}
	c.texts = texts
	if serversJSON != "" {
		c.Locked = EnvServers + " is set"
	}
	return c, problems
}

// SourceTexts returns all source texts of c, for FromSourceTexts. It contains the files unchanged,
// including secrets.
func (c *Config) SourceTexts() []byte {
	data, _ := json.MarshalIndent(map[string]any{"files": c.texts}, "", "  ") // strings only: cannot fail
	return append(data, '\n')
}

// TextOf returns the content of a file that c was read from.
func (c *Config) TextOf(file string) ([]byte, bool) {
	for _, t := range c.texts {
		if t.Path == file {
			return []byte(t.Text), true
		}
	}
	return nil, false
}

// FromSourceTexts reads the result of SourceTexts.
func FromSourceTexts(data []byte) (*Config, error) {
	var saved struct{ Files []text }
	if err := json.Unmarshal(data, &saved); err != nil {
		return nil, err
	}
	c, problems := parseAll(saved.Files, "")
	if c == nil {
		return nil, Problems(problems)
	}
	return c, nil
}

// UnsetVariables finds the variables that servers need and lookup does not find: such a server
// cannot start. It skips disabled servers, secrets and the workspace folder.
func (c *Config) UnsetVariables(lookup func(name string) (string, bool)) []Problem {
	var problems []Problem
	for _, s := range c.Servers {
		if s.Disabled {
			continue
		}
		check := func(key, value string) {
			_, err := Expand(value, func(name string) (string, bool) {
				if strings.HasPrefix(name, "secret:") || name == "workspaceFolder" {
					return "", true
				}
				return lookup(name)
			})
			if err == nil {
				return
			}
			at, known := s.keys[key]
			if !known {
				at = s.Source
			}
			problems = append(problems, Problem{
				File: at.File, Line: at.Line, Column: at.Column, Key: join("mcpServers."+s.Label, key), Server: s.Label,
				Message:    err.Error() + " for server '" + s.Label + "'",
				Suggestion: "set it, or give a default: ${NAME:-default}",
			})
		}
		check("command", s.Command)
		check("args", strings.Join(s.Args, "\n"))
		check("cwd", s.Cwd)
		check("url", s.URL)
		check("docker", strings.Join(append([]string{s.Docker.Container, s.Docker.Label, s.Docker.Service, s.Docker.Project, s.Docker.Image,
			s.Docker.Host, s.Docker.Context, s.Docker.User, s.Docker.Workdir, s.Docker.Network}, s.Docker.Mounts...), "\n"))
		for _, name := range sortedKeys(s.Env) {
			check(join("env", name), s.Env[name])
		}
		for _, name := range sortedKeys(s.Headers) {
			check(join("headers", name), s.Headers[name])
		}
		for _, account := range slices.Sorted(maps.Keys(s.Accounts)) {
			a := s.Accounts[account]
			for _, name := range sortedKeys(a.Env) {
				check("accounts."+account+".env."+name, a.Env[name])
			}
			for _, name := range sortedKeys(a.Headers) {
				check("accounts."+account+".headers."+name, a.Headers[name])
			}
		}
	}
	return problems
}

// Masked returns a configuration file as JSON that is safe to share: without comments, and masked
// by redact.MaskConfig, whose other results it returns too. The error for an invalid file does
// not repeat its content.
func Masked(file string, src []byte) (text []byte, values, variables []string, err error) {
	plain := src
	if IsYAML(file) {
		plain, err = yaml.YAMLToJSON(src)
	} else {
		plain, err = StandardJSON(src)
	}
	var document any
	if err == nil {
		err = core.DecodeJSON(plain, &document)
	}
	if err != nil {
		return nil, nil, nil, Problems{{File: file, Message: "it cannot be parsed, so its contents are not shown"}}
	}
	document, values, variables = redact.MaskConfig(document)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(document); err != nil {
		return nil, nil, nil, err
	}
	return b.Bytes(), values, variables, nil
}

// Position is a place in a file. Lines and columns count from 1, columns in characters; a zero
// Line means that the position is unknown.
type Position struct {
	File   string
	Line   int
	Column int
}

func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.File == "":
		return fmt.Sprintf("%d:%d", p.Line, p.Column)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Problem is one error or warning about a configuration file. It never contains a value that may
// be secret.
type Problem struct {
	File       string `json:"file"`
	Line       int    `json:"line"`
	Column     int    `json:"column"`
	Key        string `json:"key"`        // path of the key: "mcpServers.files.command"
	Message    string `json:"message"`    // missing 'command' in stdio server 'files'
	Suggestion string `json:"suggestion"` // what to do, or ""
	Warning    bool   `json:"warning"`    // nothing was left out because of it
	Server     string `json:"server"`     // label of the server that was left out or is concerned, or ""

	Held string `json:"held,omitempty" doc:"Identifies a change that is held back because it stops all servers; POST /api/v1/config/reload with it as confirm applies it"`
}

// String is "file:line:column: message (suggestion)".
func (p Problem) String() string {
	var b strings.Builder
	if at := (Position{p.File, p.Line, p.Column}).String(); at != "" {
		b.WriteString(at)
		b.WriteString(": ")
	}
	if p.Warning {
		b.WriteString("warning: ")
	}
	b.WriteString(p.Message)
	if p.Suggestion != "" {
		fmt.Fprintf(&b, " (%s)", p.Suggestion)
	}
	return b.String()
}

// Error makes a Problem an error.
func (p Problem) Error() string { return p.String() }

// HasErrors reports whether one of problems is not a warning.
func HasErrors(problems []Problem) bool {
	for _, p := range problems {
		if !p.Warning {
			return true
		}
	}
	return false
}

// Problems is the error of a refused configuration.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, 0, len(p))
	for _, one := range p {
		if !one.Warning {
			lines = append(lines, one.String())
		}
	}
	return strings.Join(lines, "\n")
}
