package clientconf

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Action is the effect of a plan on the client's file.
type Action string

const (
	Create Action = "create" // the file does not exist yet
	Add    Action = "add"
	Update Action = "update" // our entry exists with another content
	Equal  Action = "equal"  // nothing to do
)

// Plan is a prepared change that has not been applied.
type Plan struct {
	Client Client
	Path   string
	Action Action
	Diff   string // for display; secrets are masked
	Entry  json.RawMessage
	// Warnings are sentences to show before the user confirms.
	Warnings []string
	Notes    []string        // sentences about the result that need no attention
	Skipped  []SkippedServer // servers that PlanMove leaves out
	// Same says which of the moved servers are the same as other servers of Drawbridge, and which.
	Same []string
	// Unmoved are the servers whose move the plan undoes.
	Unmoved []string

	choice    Choice
	home      string // the user's home directory
	pasted    bool   // the servers are from a pasted text
	target    string // Path with symbolic links resolved
	before    []byte
	existed   bool
	after     []byte
	edits     []edit
	originals []edit // entries that PlanMove removes or replaces: they may be overwritten
	gateways  []edit // entries for other gateways, which are removed
	config    *configChange
	file      document            // before, parsed
	root      map[string]any      // before, decoded
	notes     map[string][]string // about the servers of a source, by name
	rules     func(dir string) []toolRules
	gatewayOf func(entry map[string]any) (Client, bool) // nil: nobody looks for other gateways
	parsed    []parsedFile
	further   []*Plan // the same move in further files of the client
}

// Key returns the key of the connection that the plan creates.
func (p *Plan) Key() string { return Key(p.choice.Client, p.choice.Project) }

// Plan prepares the connection of a client. If the file cannot be edited safely, it returns
// an error whose hint is the snippet to paste.
func (c *Connector) Plan(choice Choice) (*Plan, error) {
	if _, err := ByID(choice.Client); err != nil { // the file of a source is never written
		return nil, err
	}
	p, err := c.openPlan(choice)
	if err != nil {
		return nil, err
	}
	if p.edits, err = c.buildEdits(p.Client, choice, p.target); err != nil {
		return nil, err
	}
	p.Entry = p.edits[0].value
	if p.Path == "" {
		return nil, p.refusal(errors.New("it has no configuration file on this system"))
	}
	if err := p.readFile(); err != nil {
		return nil, err
	}
	if err := errors.Join(c.removeStaleEntries(p), c.system.removeGateways(p)); err != nil {
		return nil, err
	}
	if err := p.splice(); err != nil {
		return nil, err
	}
	p.addToolMode(c)
	return p, nil
}

// openPlan locates the file of a choice and returns an empty plan for it, with its warnings.
func (c *Connector) openPlan(choice Choice) (*Plan, error) {
	p, err := c.locatePlan(choice)
	if err == nil && p.Path != "" {
		p.Warnings = p.warnings()
	}
	return p, err
}

// locatePlan is openPlan without the warnings, for which all processes are listed.
func (c *Connector) locatePlan(choice Choice) (*Plan, error) {
	client, err := sourceByID(choice.Client)
	if err != nil {
		return nil, err
	}
	p := &Plan{Client: client, choice: choice, home: c.system.Home}
	switch {
	case choice.File != "":
		p.Path, p.Client = choice.File, client.withFormatOf(choice.File)
	case choice.Project == "":
		if loc, ok := c.system.locate(client); ok {
			p.Path = loc.path
		}
	case !filepath.IsAbs(choice.Project):
		return nil, core.Errorf(core.CodeValidation, "the project folder must be an absolute path")
	case client.ProjectFile == "":
		return nil, core.Errorf(core.CodeValidation, "%s does not support per-project configuration files", client.Name)
	case !exists(choice.Project):
		return nil, core.Errorf(core.CodeNotFound, "the folder %s does not exist", choice.Project)
	default:
		p.Path = filepath.Join(choice.Project, filepath.FromSlash(client.ProjectFile))
	}
	if p.Path == "" {
		return p, nil
	}
	if p.target, err = resolveTarget(p.Path); err != nil {
		p.Entry = c.shimEntry(client, ServerEntry{Name: EntryName})
		return nil, p.refusal(err)
	}
	return p, nil
}

func (p *Plan) warnings() (all []string) {
	if target := p.Outside(); target != "" {
		all = append(all, "The file is a link: this changes "+target+", outside your home folder.")
	}
	if p.choice.Project != "" {
		all = append(all, "The file is part of the project: everyone who checks it out gets this entry, and needs Drawbridge.")
	}
	if p.choice.HTTP {
		all = append(all, "This entry does not start Drawbridge: turn on Start at login in Drawbridge.")
	}
	if p.Client.Rewrites && p.Client.ID != "claude-code" && isRunning(p.Client) {
		all = append(all, p.Client.Name+" is running and rewrites its whole file from memory: quit it first, or it will overwrite the entry.")
	}
	if info, err := os.Stat(p.target); err == nil && p.choice.HTTP && info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		all = append(all, "Other users of this machine can read the file, which will contain the client's access token: restrict it with chmod 600.")
	}
	return all
}

// Outside returns the file that is changed if a path in the user's home folder leads out of it through
// a link, otherwise "".
func (p *Plan) Outside() string {
	for _, other := range p.further {
		if target := other.Outside(); target != "" {
			return target
		}
	}
	if target := realPath(p.target); p.Path != "" && config.Within(p.home, p.Path) && !config.Within(realPath(p.home), target) {
		return target
	}
	return ""
}

// realPath resolves the links in a path that need not exist.
func realPath(path string) string {
	if exists(path) || filepath.Dir(path) == path {
		resolved, _ := osutil.RealPath(path)
		return cmp.Or(resolved, path)
	}
	return filepath.Join(realPath(filepath.Dir(path)), filepath.Base(path))
}

func (p *Plan) readFile() error {
	if !editable(p.Client) {
		return p.refusal(errors.New("files of this format are not edited"))
	}
	var err error
	if p.before, p.existed, err = readFile(p.target); err != nil {
		return p.refusal(err)
	}
	return nil
}

// removeStaleEntries removes the entries of an earlier choice that the new one does not contain.
func (c *Connector) removeStaleEntries(p *Plan) error {
	old, recorded, err := c.loadRecord(p.choice.key())
	if err != nil || !recorded || old.Path != p.target {
		return err
	}
	for _, o := range old.Edits {
		if o.Hash == "" || slices.ContainsFunc(p.edits, o.hasPathOf) {
			continue
		}
		back := edit{path: o.Path, name: o.Name}
		if o.Before != "" {
			back.value = o.Value
			p.Unmoved = append(p.Unmoved, o.Name)
		}
		p.edits = append(p.edits, back)
	}
	if len(p.Unmoved) > 0 {
		p.Warnings = append(p.Warnings, "This undoes the move of "+strings.Join(p.Unmoved, ", ")+": "+p.Client.Name+" starts its own again.")
	}
	return nil
}

// splice computes the new content of the file and verifies that only our entries differ.
func (p *Plan) splice() error {
	content := p.before
	if !p.existed && p.Client.InitialContent != "" {
		content = []byte(p.Client.InitialContent)
	}
	original, err := p.parse(content)
	if err != nil {
		return p.refusal(err)
	}
	file := newEditing(p.Client, content, original)
	var ours, foreign bool
	equal := true
	for _, e := range p.edits {
		_, present, err := file.entry(e.path, e.name)
		if err != nil {
			return p.refusal(err)
		}
		switch {
		case present == nil && e.value == nil, present != nil && e.value != nil && sameJSON(present, e.value):
			continue
		case present == nil:
		case isOurs(present):
			ours = true
		case slices.ContainsFunc(p.originals, e.hasPathOf), slices.ContainsFunc(p.gateways, e.hasPathOf):
			foreign = true
		default:
			return p.refusal(errors.New("it already has a server named " + quote(e.name) + " that Drawbridge did not add"))
		}
		equal = false
		if e.value == nil {
			err = file.remove(e.path, e.name)
		} else {
			err = file.set(e.path, e.name, e.value)
		}
		if err != nil {
			return p.refusal(err)
		}
	}
	content = file.result()
	switch {
	case equal:
		p.Action, p.after = Equal, p.before
		return nil
	case !p.existed:
		p.Action = Create
	case ours && !foreign:
		p.Action = Update
	default:
		p.Action = Add
	}
	p.after = content
	if !p.existed && (p.Client.Format == JSON || p.Client.Format == JSONC) {
		p.after = append(p.after, '\n')
	}
	before := p.before
	if !p.existed {
		before = []byte(p.Client.InitialContent)
	}
	if err := p.verifyEdits(before, p.after, p.edits); err != nil {
		return p.refusal(err)
	}
	p.Diff = Diff(p.Path, p.before, p.after)
	return nil
}

// parse is the function of this name, which parses the same text only once: files may be large.
func (p *Plan) parse(src []byte) (document, error) {
	for _, one := range p.parsed {
		if len(src) > 0 && len(one.src) == len(src) && &one.src[0] == &src[0] {
			return one.file, nil
		}
	}
	file, err := parse(src, p.Client)
	if err == nil {
		p.parsed = append(p.parsed[max(0, len(p.parsed)-1):], parsedFile{src, file})
	}
	return file, err
}

type parsedFile struct {
	src  []byte
	file document
}

// verifyEdits returns an error unless after parses, contains every edit, and otherwise has the same
// content as before.
func (p *Plan) verifyEdits(before, after []byte, edits []edit) error {
	touched := errors.New("it cannot be edited without touching other parts")
	original, err := p.parse(before)
	if err != nil {
		return touched
	}
	file, err := p.parse(after)
	if err != nil || !sameExcept(original, file, edits) {
		return touched
	}
	for _, e := range edits {
		_, written, err := file.entry(e.path, e.name)
		if err != nil || (written == nil) != (e.value == nil) || e.value != nil && !sameJSON(written, e.value) {
			return touched
		}
	}
	return nil
}

// refusal returns the error that asks the user to make the change by hand.
func (p *Plan) refusal(why error) error {
	if p.Client.isSource() {
		return &core.Error{Code: core.CodeRejected, Cause: why, Message: "cannot read the files of " + p.Client.Name, Hint: "Nothing was changed."}
	}
	where := p.Path
	if where == "" {
		where = "its settings"
	}
	manual := p.snippet()
	return &core.Error{
		Code: core.CodeRejected, Cause: why,
		Message: "cannot edit the configuration of " + p.Client.Name,
		Hint:    "Nothing was changed. Add this manually to " + where + manual.place + ":\n" + manual.text,
	}
}

// snippet returns the entries of the plan as text to paste into the file.
func (p *Plan) snippet() snippet {
	var all []edit
	for _, e := range p.edits {
		if e.value != nil {
			all = append(all, e)
		}
	}
	if len(all) == 0 && p.Entry != nil {
		all = []edit{{p.Client.KeyPath, EntryName, p.Entry}}
	}
	return newSnippet(p.Client, p.before, all)
}

// TokenVar is the environment variable that holds a client's token if the file must not
// contain it.
const TokenVar = "DRAWBRIDGE_TOKEN"

// Choice selects how a client is connected. The zero value of every field but Client selects
// the default: one entry that starts the shim, in the user's own file.
type Choice struct {
	Client string `json:"client"`
	// Project is the absolute path of the directory whose project file is meant; "" for the
	// user's file.
	Project string `json:"project,omitempty"`
	// File is one of the further files that the client reads; "" for the one that is written by default.
	File string `json:"file,omitempty"`
	// Servers gives each server an entry of its own, under the name that the client knows. If
	// empty, one entry provides all servers.
	Servers []ServerEntry `json:"servers,omitempty"`
	// HTTP writes a URL instead of a program; nothing then starts Drawbridge when the client
	// needs it. URL is the daemon's base URL without a trailing slash.
	HTTP bool   `json:"http,omitempty"`
	URL  string `json:"url,omitempty"`
	// ByVariable writes a reference to TokenVar instead of the token.
	ByVariable bool `json:"byVariable,omitempty"`
	// Token is the client's token. It is required for HTTP and never stored.
	Token string `json:"-"`
}

// ServerEntry is one server with an entry of its own.
type ServerEntry struct {
	Name   string `json:"name"`   // name of the entry, as the client's permission rules refer to it
	Server string `json:"server"` // id of the server in our configuration
	// Scope is the project whose section of the user's file contains the entry; "" for all
	// projects. Only Claude Code has such sections.
	Scope string `json:"scope,omitempty"`
}

func (c Choice) key() string { return Key(c.Client, cmp.Or(c.File, c.Project)) }

// Key returns the key of one connection: the client's id, followed by a hash of the project or of the
// further file.
func Key(client, path string) string {
	if path == "" {
		return client
	}
	sum := sha256.Sum256([]byte(path))
	return client + "@" + hex.EncodeToString(sum[:4])
}

const diffContext = 3

// MaskSecrets returns the text of a configuration with secrets masked as in Diff.
func MaskSecrets(text []byte) string {
	all := splitLines(text)
	return strings.Join(redact.Lines(all, 0, len(all)), "\n")
}

// Diff returns the difference between before and after as a unified diff with one hunk and
// secrets masked. Our changes are in one place, so one hunk is always enough. A JSON file with long
// lines is compared with a line for each value, and only the changed lines are shown: the others may
// be private.
func Diff(path string, before, after []byte) string {
	a, b := splitLines(before), splitLines(after)
	diffContext := diffContext
	if slices.ContainsFunc(a, isLongLine) || slices.ContainsFunc(b, isLongLine) {
		var x, y bytes.Buffer
		diffContext = 0
		if indentJSON(&x, before) && indentJSON(&y, after) {
			a, b = splitLines(x.Bytes()), splitLines(y.Bytes())
		}
	}
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	if head == len(a) && head == len(b) {
		return ""
	}
	from := max(0, head-diffContext)
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n@@ -%d,%d +%d,%d @@\n", path, path,
		from+1, min(len(a), len(a)-tail+diffContext)-from, from+1, min(len(b), len(b)-tail+diffContext)-from)
	write := func(mark string, all []string, from, to int) {
		for _, line := range redact.Lines(all, from, to) {
			out.WriteString(mark + line + "\n")
		}
	}
	write(" ", a, from, head)
	write("-", a, head, len(a)-tail)
	write("+", b, head, len(b)-tail)
	write(" ", a, len(a)-tail, min(len(a), len(a)-tail+diffContext))
	return out.String()
}

// maxDiffLine is the length in bytes up to which a line is shown as it is.
const maxDiffLine = 1000

func isLongLine(line string) bool { return len(line) > maxDiffLine }

func indentJSON(to *bytes.Buffer, src []byte) bool {
	return len(src) == 0 || config.CheckDepth(src, maxDepth) == nil && json.Indent(to, bytes.TrimPrefix(src, []byte("\xef\xbb\xbf")), "", "  ") == nil
}

func splitLines(b []byte) []string {
	if len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}
