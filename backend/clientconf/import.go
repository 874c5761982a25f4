package clientconf

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// ImportedServer is one server of a client and its conversion into our configuration.
type ImportedServer struct {
	Client string `json:"client"`
	Name   string `json:"name"`
	// Scope is the project whose section of the file contains it; "" for all projects.
	Scope string `json:"scope,omitempty"`
	// File is the file that contains it, if that is not the one that Drawbridge writes.
	File string `json:"file,omitempty"`
	// Label is its name in our configuration, Entry its content there.
	Label string          `json:"label"`
	Entry json.RawMessage `json:"entry"`
	// Exists is set if our configuration already has the server, under Label.
	Exists bool `json:"have"`
	// SharedWith lists the other clients that have the same server.
	SharedWith []string `json:"same,omitempty"`
	// Notes inform the user about the conversion. Skip is the reason why it cannot be
	// imported.
	Notes      []string `json:"notes,omitempty"`
	SkipReason string   `json:"skip,omitempty"`
	// SecretNames are the names under which its literal secrets will be stored.
	SecretNames []string `json:"secrets,omitempty"`

	keyPath      []string
	original     json.RawMessage   // entry of the client
	literal      json.RawMessage   // Entry with literal secrets
	secretValues map[string]string // values by name
	secretKeys   []string          // variables or headers to treat as secrets regardless of their values
	limited      bool              // disabled, because of a limit that could not be converted
	unlocated    bool              // it can be read, but not replaced
	alone        bool              // File is read in place of the file that Drawbridge writes
}

// Original returns the entry as the client or the text has it.
func (i ImportedServer) Original() json.RawMessage { return i.original }

// SkippedServer is an entry of a client that cannot be imported.
type SkippedServer struct {
	Name   string `json:"name"`
	Scope  string `json:"scope,omitempty"`
	Reason string `json:"reason"`
}

// Servers returns the servers of a client with the conversion of each. Nothing is evaluated:
// references remain references, and commands that produce values are only marked. Our own
// entry is omitted.
func (c *Connector) Servers(choice Choice) ([]ImportedServer, error) {
	p, err := c.openPlan(choice)
	if err != nil {
		return nil, err
	}
	all, err := c.readServers(p)
	if err != nil {
		return nil, err
	}
	if err := c.assignLabels(all); err != nil {
		return nil, err
	}
	if err := extractSecrets(c.vault, all); err != nil {
		return nil, err
	}
	c.askForSecrets(p.Client, all)
	c.markShared(all, choice.Client)
	return all, nil
}

// readServers returns the servers in the file of p, and in the other files that the client reads. A file
// of these that cannot be read is one skipped entry.
func (c *Connector) readServers(p *Plan) ([]ImportedServer, error) {
	if p.Path == "" {
		return nil, nil
	}
	if err := c.system.decode(p); err != nil {
		return nil, err
	}
	var files []furtherFile
	if p.choice.File == "" {
		files = c.system.readFiles(p.Client, p.Path, p.choice.Project)
	}
	plans := []*Plan{p}
	failed := make([]error, len(files))
	for n, further := range files {
		other := &Plan{Client: p.Client.withFormatOf(further.path), Path: further.path, target: further.path, home: p.home, choice: Choice{Project: p.choice.Project}}
		failed[n] = c.system.decode(other)
		plans = append(plans, other)
	}
	p.gatewayOf = c.system.gatewayFinder()
	p.rules = func(dir string) []toolRules { return rulesOutside(c.system, p.Client, p.Path, plans, dir) }
	all := p.readServers()
	for n, further := range files {
		plans[n+1].rules, plans[n+1].gatewayOf = p.rules, p.gatewayOf
		found := plans[n+1].readServers()
		if failed[n] != nil {
			found = []ImportedServer{{Client: p.Client.ID, Name: filepath.Base(further.path), SkipReason: failed[n].Error()}}
		}
		for _, i := range found {
			i.File, i.alone = further.path, further.alone
			if i.SkipReason == "" {
				i.Notes = append(i.Notes, "It is in "+further.path)
			}
			all = append(all, i)
		}
	}
	return all, nil
}

// decode reads the file of p, if it exists.
func (p *Plan) decode() error {
	src, existed, err := readFile(p.target)
	if err != nil || !existed {
		return err
	}
	if p.file, err = parse(src, p.Client); err != nil {
		return &core.Error{Code: core.CodeValidation, Message: "cannot read the configuration of " + p.Client.Name + ", " + p.Path, Cause: err,
			Hint: "Correct the file, then try again. Drawbridge does not change a file that it cannot parse."}
	}
	m, err := p.file.decode()
	if err == nil {
		p.root, err = cloneMap(m) // TOML numbers become JSON numbers
	}
	return err
}

// readServers returns the servers in the decoded file of p.
func (p *Plan) readServers() []ImportedServer {
	file, m := p.file, p.root
	all := readContainer(p, file, m, p.Client.KeyPath, p.choice.Project)
	if p.choice.Project != "" || p.Client.ID != "claude-code" {
		return all
	}
	projects, _ := m["projects"].(map[string]any)
	for _, dir := range slices.Sorted(maps.Keys(projects)) {
		found := readContainer(p, file, m, scopePath(p.Client, dir), dir)
		for i := range found {
			found[i].Scope = dir
		}
		all = append(all, found...)
	}
	return all
}

// maxServers is how many servers of a file are read: each takes longer than the one before.
const maxServers = 1000

// readContainer returns the servers of one container: a map, or a list of entries with a name. file
// is the file that contains them; nil for a pasted text.
func readContainer(p *Plan, file document, m map[string]any, path []string, dir string) (all []ImportedServer) {
	entries := map[string]any{}
	skip := func(at int, reason string) {
		all = append(all, ImportedServer{Client: p.Client.ID, Name: fmt.Sprintf("entry %d", at+1), SkipReason: reason})
	}
	switch container := valueAt(m, path).(type) {
	case map[string]any:
		entries = container
	case []any:
		for at, e := range container {
			m, isObject := e.(map[string]any)
			name, _ := m["name"].(string)
			if p.pasted && isEntry(m) {
				name = entryName(m)
			}
			switch {
			case !isObject:
				skip(at, errNoObject.Error())
			case name == "":
				skip(at, "it has no name")
			case entries[name] != nil:
				skip(at, "an entry before it has the same name, "+quote(name))
			default:
				entries[name] = m
			}
		}
	}
	inputs := promptedInputs(m, path)
	beside, _ := valueAt(m, path[:max(0, len(path)-1)]).(map[string]any)
	rules := pastedRules(m, path)
	if p.rules != nil {
		rules = p.rules(dir)
	}
	for n, name := range slices.Sorted(maps.Keys(entries)) {
		if n == maxServers {
			return append(all, ImportedServer{Client: p.Client.ID, Name: core.Plural(len(entries)-n, "more server"), SkipReason: fmt.Sprintf("at most %d servers of a file are read", maxServers)})
		}
		raw, failed := json.Marshal(entries[name])
		if failed != nil || isOurs(raw) && !p.pasted && !p.Client.isSource() {
			continue
		}
		i := ImportedServer{Client: p.Client.ID, Name: name, Label: name, keyPath: path, original: raw}
		b := entryConverter{client: p.Client, dir: dir, home: p.home, inputs: inputs, name: name, chosen: p.choice.File != "", beside: beside, rules: rules, notes: slices.Clone(p.notes[name])}
		b.off = knownKeys().isSwitchedOff(p.Client.ID, beside, name)
		for _, client := range Known() { // a pasted text may be of any of these
			b.off = b.off || p.pasted && slices.Equal(client.KeyPath, path) && knownKeys().isSwitchedOff(client.ID, beside, name)
		}
		if b.off {
			b.addNote("The server is disabled, because the client has it switched off")
		}
		err, unusable := entries[name].(error)
		entry, _ := entries[name].(map[string]any)
		if deep := config.CheckDepth(raw, maxDepth); deep != nil && err == nil { // with indentation, it would be huge
			texts := maps.Clone(entry)
			maps.DeleteFunc(texts, func(_ string, v any) bool { _, isText := v.(string); return !isText })
			i.original, _ = core.EncodeJSON(texts) // cannot fail
			err = deep
		}
		if entry != nil && p.gatewayOf != nil {
			if gateway, ok := p.gatewayOf(entry); ok && p.Client.isSource() {
				err = errors.New("it starts " + gateway.Name + ", another gateway")
			} else if ok { // see removeGateways
				continue
			}
		}
		switch _, inContainer := entry["docker"]; {
		case err != nil || unusable:
		case p.pasted, inContainer && p.Client.isSource():
			i.Entry, err = b.convertPasted(entries[name])
		default:
			i.Entry, err = encodeEntry(b.convert(entries[name]))
		}
		switch {
		case err != nil:
		case isOurs(raw):
			err = errOurs
		case p.pasted:
			err = checkEntry(serverName(name), i.Entry)
		default:
			err = checkEntry(name, i.Entry)
		}
		if err != nil {
			i.Entry, i.SkipReason = nil, err.Error()
		} else {
			i.limited = b.disabled
			if file != nil {
				source, _, err := file.entry(path, name)
				i.unlocated = err != nil
				if note := commentNote(source, p.Client.Format); note != "" {
					b.notes = append(b.notes, note)
				}
			}
			i.literal, i.Notes = i.Entry, b.notes
		}
		all = append(all, i)
	}
	return all
}

func encodeEntry(entry *configEntry, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	return core.EncodeJSON(entry)
}

// checkEntry returns why our configuration would refuse a server; nil if it is valid.
func checkEntry(name string, entry json.RawMessage) error {
	_, problems := config.Parse("the import", []byte(`{"mcpServers":{`+core.QuoteJSON(name)+`:`+string(entry)+`}}`))
	for _, p := range problems {
		if !p.Warning {
			return errors.New(strings.TrimSuffix(p.Message+" ("+p.Suggestion+")", " ()"))
		}
	}
	return nil
}

// assignLabels sets the name of each server in our configuration: that of an equal server, which may have
// another name unless the user chose its name, or else the client's name, unless our configuration or a preceding import has another server
// with that name.
func (c *Connector) assignLabels(all []ImportedServer) error {
	have, labels := map[string]json.RawMessage{}, map[string]string{}
	if c.config != "" {
		o, err := c.openConfig()
		if err != nil {
			return err
		}
		if have, labels, err = o.servers(); err != nil {
			return err
		}
		for key, entry := range have {
			have[key] = expandSecrets(c.vault, entry)
		}
	}
	equal := map[string][]string{} // by key
	for _, label := range slices.Sorted(maps.Keys(have)) {
		key := serverKey(have[label])
		equal[key] = append(equal[key], label)
	}
	for n := range all {
		i := &all[n]
		if i.SkipReason != "" {
			continue
		}
		key := serverKey(i.literal)
		candidates := []string{i.Name, i.Name + "-" + i.Client}
		if i.Scope != "" {
			candidates = []string{i.Name, i.Name + "-" + filepath.Base(i.Scope)}
		}
		for k := 2; k < 100; k++ {
			candidates = append(candidates, candidates[1]+"-"+strconv.Itoa(k))
		}
		others := equal[key]
		if i.Client == pastedClient { // the user chose its name
			others = nil
		}
		for _, label := range slices.Concat(candidates[:1], others) {
			if other, taken := have[labelKey(label)]; taken && i.isCoveredBy(other) {
				i.Exists, i.Label = true, cmp.Or(labels[labelKey(label)], label)
				break
			}
		}
		free := slices.IndexFunc(candidates, func(label string) bool { return have[labelKey(label)] == nil })
		if i.Exists || free < 0 {
			continue
		}
		i.Label = candidates[free]
		have[labelKey(i.Label)], labels[labelKey(i.Label)] = i.literal, i.Label
		equal[key] = append(equal[key], labelKey(i.Label))
	}
	return nil
}

// labelKey returns a key that is equal for names that our configuration cannot have both.
func labelKey(label string) string {
	return strings.ReplaceAll(strings.ToLower(core.Slug(label)), "_", "-")
}

// isCoveredBy reports whether an entry of our configuration runs the same server and limits it at least
// as much: a server with fewer limits is never used in its place.
func (i *ImportedServer) isCoveredBy(entry json.RawMessage) bool {
	if serverKey(entry) != serverKey(i.literal) {
		return false
	}
	mine, errMine := decodeObject(i.literal)
	theirs, errTheirs := decodeObject(entry)
	if errMine != nil || errTheirs != nil || i.limited && theirs["disabled"] != true {
		return false
	}
	for _, key := range []string{"includeTools", "excludeTools", "tools", "approval"} {
		if mine[key] != nil && !reflect.DeepEqual(mine[key], theirs[key]) {
			return false
		}
	}
	return true
}

// serverKey returns a key that is equal for entries that run the same server: program or URL,
// directory and settings, but not timeouts or whether it is disabled.
func serverKey(entry json.RawMessage) string {
	m, err := decodeObject(entry)
	if err != nil {
		return string(entry)
	}
	for key := range m {
		if !slices.Contains([]string{"command", "args", "env", "cwd", "url", "headers", "oauth", "container", "docker", "inheritEnv"}, key) {
			delete(m, key)
		}
	}
	for _, key := range []string{"args", "env", "headers", "oauth", "inheritEnv"} {
		switch v := m[key].(type) {
		case []any:
			if len(v) == 0 {
				delete(m, key)
			}
		case map[string]any:
			if len(v) == 0 {
				delete(m, key)
			}
		}
	}
	b, _ := json.Marshal(m)
	return string(b)
}

func (c *Connector) markShared(all []ImportedServer, client string) {
	index := map[string][]string{}
	for _, other := range Known() {
		if other.ID == client {
			continue
		}
		p, err := c.locatePlan(Choice{Client: other.ID})
		if err != nil {
			continue
		}
		theirs, _ := c.readServers(p)
		for _, i := range theirs {
			key := serverKey(i.literal)
			if i.SkipReason == "" && !slices.Contains(index[key], other.ID) {
				index[key] = append(index[key], other.ID)
			}
		}
	}
	for n := range all {
		if all[n].SkipReason == "" {
			all[n].SharedWith = index[serverKey(all[n].literal)]
		}
	}
}

var (
	// errNoServer is the error for an entry with neither a command nor a URL.
	errNoServer = errors.New("it has neither a command nor a URL")
	errOurs     = errors.New("it connects to Drawbridge itself")
	errNoObject = errors.New("it is not an object")
)

// firstMember returns the first of the members that exists.
func firstMember(m map[string]any, keys ...string) any {
	for _, key := range keys {
		if v, ok := m[key]; ok && v != nil {
			return v
		}
	}
	return nil
}

// textList returns a text, or a list of texts. Numbers and booleans are texts as well. ok is false for
// anything else.
func textList(v any) (all []string, ok bool) {
	list, isList := v.([]any)
	if v != nil && !isList {
		list = []any{v}
	}
	for _, item := range list {
		switch item := item.(type) {
		case string:
			all = append(all, item)
		case json.Number, bool:
			if !isList {
				return nil, false
			}
			all = append(all, fmt.Sprint(item))
		default:
			return nil, false
		}
	}
	return all, true
}

func stringList(v any) (all []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, item := range v {
			if s, ok := item.(string); ok {
				all = append(all, s)
			} else if n, ok := item.(json.Number); ok {
				all = append(all, n.String())
			} else if m, ok := item.(map[string]any); ok { // codex: {name, source}
				all = append(all, cmp.Or(firstString(m, "name"), ""))
			}
		}
	}
	return all
}
