package clientconf

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

//go:embed sources.json
var sourcesJSON []byte

// Sources returns where servers can be imported from besides clients: other gateways, and the extensions
// and plugins of clients. Drawbridge never writes their files. Those without Candidates have no file that
// can be read; they are known only so that clients no longer start them.
var Sources = sync.OnceValue(func() []Client {
	var all []Client
	if err := json.Unmarshal(sourcesJSON, &all); err != nil {
		panic(err) // the table is embedded, and a test parses it
	}
	return all
})

// Gateway is how the entries of clients for another gateway are recognized.
type Gateway struct {
	// Programs are names of programs or packages, or the first words of a command.
	Programs []string `json:"programs"`
	Port     string   `json:"port"` // where it listens on this machine, if its own file is there
	// Listen is the key of its own file with its address or port, in place of Port.
	Listen string `json:"listen"`
}

// isSource reports whether c is one of Sources.
func (c Client) isSource() bool { return c.Gateway != nil || c.SwitchOff != "" }

// sourceByID is ByID for the sources as well.
func sourceByID(id string) (Client, error) {
	for _, c := range Sources() {
		if c.ID == id {
			return c, nil
		}
	}
	return ByID(id)
}

// FindSource is Find for the sources that have a file as well.
func FindSource(text string) (Client, error) {
	if c, ok := findSource(text); ok {
		return c, nil
	}
	return Find(text)
}

func findSource(text string) (Client, bool) {
	all := Sources()
	at := slices.IndexFunc(all, func(c Client) bool {
		return len(c.Candidates) > 0 && (strings.EqualFold(c.ID, text) || strings.EqualFold(c.Name, text))
	})
	if at < 0 {
		return Client{}, false
	}
	return all[at], true
}

// sourceIDs returns the ids of the sources that can be imported.
func sourceIDs() (ids []string) {
	for _, c := range Sources() {
		if len(c.Candidates) > 0 {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// presentSources returns the sources that have a file.
func (s System) presentSources() (all []Status) {
	for _, source := range Sources() {
		if loc, ok := s.locate(source); ok && loc.exists {
			all = append(all, Status{Client: source, Key: source.ID, Path: loc.path, Detected: true, State: NotConnected})
		}
	}
	return all
}

// Source is another gateway, or what the extensions or plugins of a client start, with servers that can be
// imported.
type Source struct {
	Key     string   `json:"key" doc:"Identifies it in the routes of imports"`
	Name    string   `json:"name"`
	Path    string   `json:"path" doc:"Its file, or the first one"`
	Servers []string `json:"servers" nullable:"false"`
	Plugin  bool     `json:"plugin" doc:"Whether a client starts the servers, past any gateway"`
	Problem string   `json:"problem" doc:"Why it cannot be read; empty if it can"`
}

// Sources returns the sources on this machine that have servers, or cannot be read.
func (c *Connector) Sources() []Source {
	all := []Source{}
	for _, s := range c.system.presentSources() {
		one := Source{Key: s.Key, Name: s.Client.Name, Path: s.Path, Plugin: s.Client.Gateway == nil, Servers: []string{}}
		p, err := c.locatePlan(Choice{Client: s.Key})
		var servers []ImportedServer
		if err == nil {
			servers, err = c.readServers(p)
		}
		for _, i := range servers {
			one.Servers = append(one.Servers, i.Name)
		}
		if err != nil {
			one.Problem = err.Error() // of this machine: nothing to hide
		}
		if one.Problem != "" || len(servers) > 0 {
			all = append(all, one)
		}
	}
	return all
}

// sourceFile returns the file of a source at a path that the user chose. In a folder, it is the only one that the
// source can have there; several are named in the error.
func sourceFile(id, chosen string) (string, error) {
	chosen, err := filepath.Abs(chosen)
	if err != nil {
		return "", err
	}
	client, err := sourceByID(id)
	if err != nil || !client.isSource() {
		return "", cmp.Or(err, error(core.Errorf(core.CodeValidation, "--file is for gateways and plugins: %s is a client", client.Name)))
	}
	info, err := os.Stat(chosen)
	if err != nil || !info.IsDir() {
		return chosen, err
	}
	var patterns []string
	for _, system := range slices.Sorted(maps.Keys(client.Candidates)) {
		for _, candidate := range client.Candidates[system] {
			name := path.Base(candidate.Path)
			if name == "*" { // the source is a folder
				return chosen, nil
			}
			if !strings.Contains(name, "}") && !slices.Contains(patterns, name) {
				patterns = append(patterns, name)
				if path.Base(path.Dir(candidate.Path)) == "*" { // the folder may be that of all
					patterns = append(patterns, "*/"+name)
				}
			}
		}
	}
	folder := os.DirFS(chosen)
	found := globAll(folder, patterns...)
	if len(found) == 0 && client.Format == Database {
		found = globAll(folder, "*.json", "*.yaml") // what it exported
	}
	switch len(found) {
	case 0:
		return "", &core.Error{Code: core.CodeNotFound, Message: chosen + " has no file of " + client.Name, Hint: "It is looked for as " + strings.Join(patterns, " or ") + ". Choose another file with --file."}
	case 1:
		return filepath.Join(chosen, filepath.FromSlash(found[0])), nil
	}
	return "", &core.Error{Code: core.CodeValidation, Message: fmt.Sprintf("%s has %d files of %s: %s", chosen, len(found), client.Name, core.Shorten(strings.Join(found, ", "), 1000)), Hint: "Choose one of them with --file."}
}

// globAll returns the paths in a folder that match one of the patterns.
func globAll(folder fs.FS, patterns ...string) (found []string) {
	for _, pattern := range patterns {
		matches, _ := fs.Glob(folder, pattern) // only a malformed pattern is an error
		found = append(found, matches...)
	}
	return found
}

// gatewayFinder returns a function that returns the gateway that an entry of a client starts or connects to.
func (s System) gatewayFinder() func(entry map[string]any) (Client, bool) {
	byPort := sync.OnceValue(s.gatewayPorts)
	return func(entry map[string]any) (Client, bool) {
		words, _ := textList(firstMember(entry, commandKeys...))
		args, _ := textList(entry["args"])
		if words = append(words, args...); len(words) == 1 {
			words = config.SplitCommand(words[0])
		}
		for _, c := range Sources() {
			if c.Gateway != nil && slices.ContainsFunc(c.Gateway.Programs, func(program string) bool { return startsGateway(withoutWrapper(words), program) }) {
				return c, true
			}
		}
		address := firstString(entry, addressKeys...)
		for _, word := range words { // of a bridge such as mcp-remote
			if strings.HasPrefix(word, "http://") && address == "" {
				address = word
			}
		}
		if port := loopbackPort(address); port != "" {
			c, ok := byPort()[port]
			return c, ok
		}
		return Client{}, false
	}
}

// startsGateway reports whether a command is that of a gateway: its first words, or a program or a package
// among the first words before its own arguments.
func startsGateway(words []string, program string) bool {
	if named := strings.Fields(program); len(named) > 1 {
		return len(words) >= len(named) && programName(words[0]) == named[0] && slices.Equal(words[1:len(named)], named[1:])
	}
	for n, word := range words {
		if n > 0 && strings.HasPrefix(word, "-") {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(word, "@"), "@") // without a version
		if strings.HasPrefix(word, "@") {
			name = "@" + name
		}
		if name == program || n == 0 && programName(word) == program {
			return true
		}
		if n > 0 { // only the package that npx or another launcher runs
			return false
		}
	}
	return false
}

// gatewayPorts returns the gateways that have a file here, by the ports on which they listen.
func (s System) gatewayPorts() map[string]Client {
	ports := map[string]Client{}
	for _, c := range Sources() {
		loc, ok := s.locate(c)
		if !ok || !loc.exists || c.Gateway == nil {
			continue
		}
		own := c.Gateway.Port
		for _, file := range append([]furtherFile{{location: loc}}, s.readFiles(c, loc.path, "")...) {
			if c.Gateway.Listen == "" {
				break
			}
			src, _, err := readFile(file.path)
			if err != nil {
				continue
			}
			m, _ := decodeFile(src, c)
			address := fmt.Sprint(m[c.Gateway.Listen])
			if _, port, err := net.SplitHostPort(address); err == nil {
				own = port
			} else if n, err := strconv.Atoi(address); err == nil && n > 0 {
				ports[address] = c
			}
		}
		if own != "" {
			ports[own] = c
		}
	}
	return ports
}

// loopbackPort returns the port of a URL of this machine with a path of MCP; "" for others.
func loopbackPort(text string) string {
	u, err := url.Parse(text)
	if err != nil || !slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname()) {
		return ""
	}
	if first, _, _ := strings.Cut(strings.Trim(u.Path, "/"), "/"); !slices.Contains([]string{"", "mcp", "sse"}, first) {
		return ""
	}
	return u.Port()
}

// removeGateways adds the removal of the entries for other gateways to a plan, because a client with both
// would have each tool twice. Undoing the connection restores them.
func (s System) removeGateways(p *Plan) error {
	if p.choice.Project != "" || !p.existed {
		return nil
	}
	file, err := p.parse(p.before)
	if err != nil {
		return p.refusal(err)
	}
	m, err := file.decode()
	if err != nil {
		return p.refusal(err)
	}
	entries, _ := valueAt(m, p.Client.KeyPath).(map[string]any)
	gatewayOf := s.gatewayFinder()
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		entry, _ := entries[name].(map[string]any)
		gateway, ok := gatewayOf(entry)
		e := edit{path: p.Client.KeyPath, name: name}
		if !ok || slices.ContainsFunc(p.edits, e.hasPathOf) {
			continue
		}
		p.edits, p.gateways = append(p.edits, e), append(p.gateways, e)
		text := fmt.Sprintf("The entry %s, which starts %s, is removed.", core.QuoteJSON(name), gateway.Name)
		if len(gateway.Candidates) > 0 {
			text += " Import its servers with: drawbridge clients import " + gateway.ID + "."
		}
		p.Warnings = append(p.Warnings, text)
	}
	return nil
}
