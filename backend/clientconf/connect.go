package clientconf

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"drawbridge/backend/hub"
)

// lockWait is how long a write waits for the client's own lock.
const lockWait = 5 * time.Second

// Options says where a Connector works.
type Options struct {
	System System
	// Dir holds records and backups; it is created when needed.
	Dir string
	// Program is the absolute path of the drawbridge binary for the shim entry.
	Program string
	// Data is the data folder to name in the entry; "" for the default one.
	Data string
	Now  func() time.Time // nil: time.Now
}

// Connector plans, writes and takes back our entry in clients' files. Its methods
// may be called from any goroutine, but one client only by one at a time.
type Connector struct {
	system  System
	dir     string
	program string
	data    string
	now     func() time.Time
}

// New checks the options and touches nothing.
func New(o Options) (*Connector, error) {
	if o.Dir == "" || o.Program == "" || o.System.Home == "" || o.System.Getenv == nil {
		return nil, errors.New("clientconf needs a folder, a program, a home and an environment")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Connector{system: o.System, dir: o.Dir, program: o.Program, data: o.Data, now: o.Now}, nil
}

// Status is what is known of one client on this machine.
type Status struct {
	Client    Client
	Path      string // of its file; "" where it has none on this system
	Detected  bool   // it seems to be installed
	Connected bool   // its file holds our entry
	// Problem says why the file cannot be edited, or that our entry was lost since.
	Problem string
}

// List returns the status of every known client. It only reads.
func (c *Connector) List() []Status {
	var all []Status
	for _, client := range Known() {
		s := Status{Client: client, Detected: c.system.detected(client)}
		if loc, ok := c.system.locate(client); ok {
			s.Path = loc.path
			s.Connected, s.Problem = c.inspect(client, loc)
		}
		all = append(all, s)
	}
	return all
}

func (c *Connector) inspect(client Client, loc location) (connected bool, problem string) {
	if loc.exists && editable(client) {
		src, _, err := read(loc.path)
		if err != nil {
			return false, err.Error()
		}
		file, err := parse(src, client)
		if err != nil {
			return false, err.Error()
		}
		_, entry, err := file.entry(client.KeyPath, EntryName)
		if err != nil {
			return false, err.Error()
		}
		if entry != nil && isOurs(entry) {
			return true, ""
		}
	}
	if _, recorded, _ := c.loadRecord(client.ID); recorded {
		return false, "our entry is no longer in the file"
	}
	return false, ""
}

// Action is what a plan would do.
type Action string

const (
	Create Action = "create" // the file is not there yet
	Add    Action = "add"
	Update Action = "update" // our entry is there, in another form
	Equal  Action = "equal"  // nothing to do
)

// Plan is a change that was prepared and not yet made.
type Plan struct {
	Client Client
	Path   string
	Action Action
	Diff   string // to show; secrets are masked
	Entry  json.RawMessage

	target  string // Path with links followed
	before  []byte
	existed bool
	after   []byte
}

// Plan prepares the connection of a client through the shim. A file that cannot be
// edited safely is an error whose hint is the snippet to paste.
func (c *Connector) Plan(id string) (*Plan, error) {
	client, err := ByID(id)
	if err != nil {
		return nil, err
	}
	args := []string{"stdio", "--client", id}
	if c.data != "" {
		args = append(args, "--data", c.data)
	}
	p := &Plan{Client: client, Entry: stdioEntry(client, EntryName, c.program, args)}
	loc, ok := c.system.locate(client)
	if !ok {
		return nil, p.refuse(errors.New("it has no configuration file on this system"))
	}
	p.Path = loc.path
	if !editable(client) {
		return nil, p.refuse(errors.New("files of this format are not edited yet"))
	}
	if p.target, err = target(loc.path); err != nil {
		return nil, p.refuse(err)
	}
	if p.before, p.existed, err = read(p.target); err != nil {
		return nil, p.refuse(err)
	}
	return p, p.splice()
}

// splice computes what the file becomes and checks that only our entry differs.
func (p *Plan) splice() error {
	file, err := parse(p.before, p.Client)
	if err != nil {
		return p.refuse(err)
	}
	_, present, err := file.entry(p.Client.KeyPath, EntryName)
	if err != nil {
		return p.refuse(err)
	}
	switch {
	case present == nil && !p.existed:
		p.Action = Create
	case present == nil:
		p.Action = Add
	case sameJSON(present, p.Entry):
		p.Action, p.after = Equal, p.before
		return nil
	case isOurs(present):
		p.Action = Update
	default:
		return p.refuse(errors.New("it already has a server called " + quote(EntryName) + " that is not ours"))
	}
	if p.after, err = file.set(p.Client.KeyPath, EntryName, p.Entry); err != nil {
		return p.refuse(err)
	}
	if !p.existed && p.Client.Format != TOML {
		p.after = append(p.after, '\n')
	}
	again, err := parse(p.after, p.Client)
	if err != nil || !sameElse(p.before, p.after, p.Client, EntryName) {
		return p.refuse(errors.New("it cannot be edited without touching other parts"))
	}
	if _, written, err := again.entry(p.Client.KeyPath, EntryName); err != nil || !sameJSON(written, p.Entry) {
		return p.refuse(errors.New("it cannot be edited without touching other parts"))
	}
	p.Diff = diff(p.Path, p.before, p.after)
	return nil
}

// refuse makes the error that hands the work to the person.
func (p *Plan) refuse(why error) error {
	where := p.Path
	if where == "" {
		where = "its settings"
	}
	return &hub.Error{
		Code: hub.CodeRejected, Cause: why,
		Message: "cannot edit the configuration of " + p.Client.Name,
		Hint:    "Nothing was changed. Add this to " + where + " by hand:\n" + snippet(p.Client, EntryName, p.Entry),
	}
}

// Apply makes the planned change: under the client's lock, with a backup, old or
// new at every moment. It verifies what it wrote. A file that changed since the
// plan was made is left alone (code conflict).
func (c *Connector) Apply(ctx context.Context, p *Plan) error {
	old, recorded, err := c.loadRecord(p.Client.ID)
	if err != nil {
		return err
	}
	if p.Action == Equal && recorded {
		return nil
	}
	r := record{Client: p.Client.ID, Entry: EntryName, Path: p.target, At: c.now().UTC(), Existed: p.existed}
	switch {
	case recorded && old.Path == p.target && old.PostHash == hash(p.before):
		// Our own last write is still in place: the pre-image stays the first one.
		r.Existed, r.Backup, r.MadeDirs = old.Existed, old.Backup, old.MadeDirs
	case p.Action == Add:
		if r.Backup, err = c.saveBackup(p.Client.ID, p.before); err != nil {
			return err
		}
	case p.Action == Create:
		if r.MadeDirs, err = makeDirs(filepath.Dir(p.target)); err != nil {
			return err
		}
	}
	unlock, err := c.lock(ctx, p)
	if err != nil {
		return err
	}
	defer unlock()
	r.PostHash = hash(p.after)
	if file, err := parse(p.after, p.Client); err == nil {
		entry, _, _ := file.entry(p.Client.KeyPath, EntryName)
		r.EntryHash = hash(entry)
	}
	// The record comes first: killed in between, undo still finds the pre-image.
	if err := c.saveRecord(r); err != nil {
		return err
	}
	if p.Action != Equal {
		if err := replace(p.target, p.before, p.existed, p.after); err != nil {
			c.restoreRecord(old, recorded, p.Client.ID)
			return err
		}
	}
	if now, _, err := read(p.target); err != nil || !bytes.Equal(now, p.after) {
		return errors.Join(hub.Errorf(hub.CodeConflict, "the file was changed again right after it was written"), err)
	}
	return nil
}

func (c *Connector) restoreRecord(old record, had bool, id string) {
	if had {
		_ = c.saveRecord(old) // the write's own error is what the caller hears
	} else {
		os.Remove(c.recordPath(id))
	}
}

func (c *Connector) lock(ctx context.Context, p *Plan) (unlock func(), err error) {
	if p.Client.Lock != "mkdir" || p.Action == Equal {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	return lockFolder(ctx, p.target)
}

// makeDirs creates dir and returns the folders that were missing, outermost first.
func makeDirs(dir string) (made []string, err error) {
	for missing := dir; !exists(missing); missing = filepath.Dir(missing) {
		made = append(made, missing)
	}
	slices.Reverse(made)
	return made, os.MkdirAll(dir, 0o700)
}
