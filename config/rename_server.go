package config

import (
	"context"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/tailscale/hujson"
)

// CheckRename checks whether a server can be renamed and returns its new id. It changes nothing.
func (r *Reloader) CheckRename(id, label string) (string, error) {
	s, err := r.editableServer(id)
	if err != nil {
		return "", err
	}
	if err := checkEditable(s.Source.File); err != nil {
		return "", err
	}
	to := core.Slug(label)
	if !core.ValidServerID(to) {
		return "", &core.Error{Code: core.CodeValidation, Message: "the request is not valid", Fields: []core.FieldError{{Field: "name", Error: "must contain a letter or a digit"}}}
	}
	if other, taken := r.Current().Server(to); taken && other.ID != s.ID {
		return "", core.Errorf(core.CodeConflict, "a server named %q already exists", other.ID)
	}
	if err := r.checkOtherFiles(&s, rename{from: s.ID, to: to, fromLabel: s.Label, toLabel: label}); err != nil {
		return "", err
	}
	return to, nil
}

// Rename renames a server in the file that defines it and in the profiles, clients, rules and
// replay servers that refer to it. It returns the new id, and warnings about references that it
// could not rename.
func (r *Reloader) Rename(ctx context.Context, id, label string) (to string, warnings []string, err error) {
	to, err = r.CheckRename(id, label)
	if err != nil {
		return "", nil, err
	}
	s, err := r.editableServer(id)
	if err != nil {
		return "", nil, err
	}
	change := rename{from: s.ID, to: to, fromLabel: s.Label, toLabel: label}
	before := r.Current()
	warnings = change.warnings(before, s.Source.File)
	err = r.Edit(ctx, s.Source.File, func(d *Document) error {
		d.renameReferences(change)
		return d.Rename(s.Label, label)
	})
	if err != nil || to == s.ID {
		return to, warnings, err
	}
	for _, file := range before.Files { // those without a reference are not written
		if file == s.Source.File || IsYAML(file) || !change.isIn(before, file) {
			continue
		}
		if err := r.Edit(ctx, file, func(d *Document) error { d.renameReferences(change); return nil }); err != nil {
			return to, warnings, err
		}
	}
	return to, warnings, nil
}

// checkOtherFiles returns an error if another file than that of the server chooses an account of
// it, or has a rule about it. Between two edits, calls would use another account, or the rule would
// not apply to them.
func (r *Reloader) checkOtherFiles(s *Server, change rename) error {
	what, file := "an account of server \""+s.ID+"\" is selected", ""
	if change.to != s.ID {
		file = r.fileChoosingAccount(s)
	}
	for _, rule := range r.Current().Policy.Arguments {
		if o := r.serverWithNamespace(s.ID, change.from, change.to); o != "" && change.tool(rule.Tool, rule.Servers) != rule.Tool {
			return &core.Error{Code: core.CodeConflict, Message: rule.Key + " refers to server \"" + s.ID + "\", and server \"" + o + "\" uses the old or the new name as its namespace",
				Hint: "Give \"" + o + "\" another namespace first, or edit the rule."}
		}
		if file == "" && rule.Source.File != s.Source.File && change.affects(&rule) {
			what, file = rule.Key+" refers to server \""+s.ID+"\", but is", rule.Source.File
		}
	}
	if file == "" {
		return nil
	}
	return &core.Error{Code: core.CodeConflict, Message: what + " in another file: " + file,
		Hint: "Pause all servers, then rename the server in both files in a text editor."}
}

// serverWithNamespace returns another server than id that has one of the namespaces, or "".
func (r *Reloader) serverWithNamespace(id string, namespaces ...string) string {
	for _, o := range r.Current().Servers {
		if o.ID != id && o.Namespace != "" && slices.Contains(namespaces, o.Namespace) {
			return o.ID
		}
	}
	return ""
}

// fileChoosingAccount returns a file other than that of the server in which a profile or client
// chooses an account of it, or "".
func (r *Reloader) fileChoosingAccount(s *Server) string {
	c := r.Current()
	for _, p := range c.Profiles {
		if p.Accounts[s.ID] != "" && p.Source.File != s.Source.File {
			return p.Source.File
		}
	}
	for _, client := range c.Clients {
		if client.Accounts[s.ID] != "" && client.Source.File != s.Source.File {
			return client.Source.File
		}
	}
	return ""
}

// Rename renames the server called label; everything else keeps its bytes.
func (d *Document) Rename(label, to string) error {
	if o, _ := d.findServer(to); o != nil && to != label {
		return core.Errorf(core.CodeConflict, "a server named %q already exists", to)
	}
	s := d.server(label)
	if s == nil {
		return serverNotFoundError(label)
	}
	s.label.Value = hujson.String(to)
	return nil
}

// members returns the members of the object under name, or nil if there is no such object.
func members(o *hujson.Object, name string) []hujson.ObjectMember {
	if i := memberIndex(o, name); i >= 0 {
		if inner, ok := o.Members[i].Value.Value.(*hujson.Object); ok {
			return inner.Members
		}
	}
	return nil
}

func memberKey(m hujson.ObjectMember) string {
	l, _ := m.Name.Value.(hujson.Literal)
	return l.String()
}
