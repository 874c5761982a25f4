package clientconf

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
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
	Skipped  []SkippedServer // servers that PlanMove leaves out

	choice    Choice
	home      string // the user's home directory
	pasted    bool   // the servers are from a pasted text
	target    string // Path with symbolic links resolved
	before    []byte
	existed   bool
	after     []byte
	edits     []edit
	originals []edit // entries that PlanMove removes or replaces: they may be overwritten
	config    *configChange
	file      document       // before, parsed
	root      map[string]any // before, decoded
	rules     func(dir string) []toolRules
	parsed    []parsedFile
	further   []*Plan // the same move in further files of the client
}

// Key returns the key of the connection that the plan creates.
func (p *Plan) Key() string { return Key(p.choice.Client, p.choice.Project) }

// Plan prepares the connection of a client. If the file cannot be edited safely, it returns
// an error whose hint is the snippet to paste.
func (c *Connector) Plan(choice Choice) (*Plan, error) {
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
	if err := c.removeStaleEntries(p); err != nil {
		return nil, err
	}
	return p, p.splice()
}

// openPlan locates the file of a choice and returns an empty plan for it.
func (c *Connector) openPlan(choice Choice) (*Plan, error) {
	client, err := ByID(choice.Client)
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
	p.Warnings = p.warnings()
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
		all = append(all, "Other users of this machine can read the file, which will contain the client's token: restrict it with chmod 600.")
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
	if resolved, err := filepath.EvalSymlinks(path); err == nil || filepath.Dir(path) == path {
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
		}
		p.edits = append(p.edits, back)
	}
	return nil
}

// splice computes the new content of the file and verifies that only our entries differ.
func (p *Plan) splice() error {
	content := p.before
	if !p.existed && p.Client.InitialContent != "" {
		content = []byte(p.Client.InitialContent)
	}
	var ours, foreign bool
	equal := true
	for _, e := range p.edits {
		file, err := p.parse(content)
		if err != nil {
			return p.refusal(err)
		}
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
		case slices.ContainsFunc(p.originals, e.hasPathOf):
			foreign = true
		default:
			return p.refusal(errors.New("it already has a server named " + quote(e.name) + " that Drawbridge did not add"))
		}
		equal = false
		if e.value == nil {
			content, _, err = file.remove(e.path, e.name)
		} else {
			content, err = file.set(e.path, e.name, e.value)
		}
		if err != nil {
			return p.refusal(err)
		}
	}
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

// parsedFile is a text and its document.
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
