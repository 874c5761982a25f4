package reload

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/tailscale/hujson"
)

// CheckRename checks whether a server can be renamed and returns its new id. It changes nothing.
func (r *Reloader) CheckRename(id, label string) (string, error) {
	s, err := r.editableServer(id)
	if err != nil {
		return "", err
	}
	if ext := strings.ToLower(filepath.Ext(s.Source.File)); ext == ".yaml" || ext == ".yml" {
		return "", &core.Error{Code: core.CodeRejected, Message: "cannot edit " + s.Source.File + ": it is YAML", Hint: "Edit it in a text editor; it is reloaded when you save it."}
	}
	to := core.Slug(label)
	if !core.ValidServerID(to) {
		return "", &core.Error{Code: core.CodeValidation, Message: "the request is not valid", Fields: []core.FieldError{{Field: "name", Error: "must have a letter or a digit"}}}
	}
	if other, taken := r.Current().Server(to); taken && other.ID != s.ID {
		return "", core.Errorf(core.CodeConflict, "a server %q already exists", other.ID)
	}
	return to, nil
}

// Rename renames a server in the file that defines it and in the profiles that refer to it. It
// returns the new id.
func (r *Reloader) Rename(ctx context.Context, id, label string) (string, error) {
	to, err := r.CheckRename(id, label)
	if err != nil {
		return "", err
	}
	s, err := r.editableServer(id)
	if err != nil {
		return "", err
	}
	if file := r.fileChoosingAccount(&s); file != "" && to != s.ID {
		// Between two edits, calls would use another account.
		return "", &core.Error{Code: core.CodeConflict, Message: "an account of server \"" + s.ID + "\" is chosen in another file: " + file,
			Hint: "Rename the server in both files in a text editor while Drawbridge is paused."}
	}
	err = r.Edit(ctx, s.Source.File, func(d *Document) error {
		d.RenameInProfiles(s.ID, to)
		return d.Rename(s.Label, label)
	})
	if err != nil || to == s.ID {
		return to, err
	}
	for _, p := range r.Current().Profiles { // in other files; those without a reference are not written
		if _, named := p.Servers[s.ID]; !named {
			continue
		}
		for _, file := range r.Current().Files {
			if ext := strings.ToLower(filepath.Ext(file)); file == s.Source.File || ext == ".yaml" || ext == ".yml" {
				continue
			}
			if err := r.Edit(ctx, file, func(d *Document) error { d.RenameInProfiles(s.ID, to); return nil }); err != nil {
				return to, err
			}
		}
		break
	}
	return to, nil
}

// fileChoosingAccount returns a file other than that of the server in which a profile or client chooses an
// account of it, or "".
func (r *Reloader) fileChoosingAccount(s *config.Server) string {
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
		return core.Errorf(core.CodeConflict, "a server %q already exists", to)
	}
	for _, box := range d.serversNodes() {
		switch b := box.value.Value.(type) {
		case *hujson.Object:
			if i := memberIndex(b, label); i >= 0 {
				b.Members[i].Name.Value = hujson.String(to)
				return nil
			}
		case *hujson.Array:
			for _, e := range b.Elements {
				if o, ok := e.Value.(*hujson.Object); ok && serverName(o) == label {
					o.Members[memberIndex(o, "name")].Value.Value = hujson.String(to)
					return nil
				}
			}
		}
	}
	return serverNotFoundError(label)
}

// RenameInProfiles replaces references to the server id with to in all profiles and clients.
func (d *Document) RenameInProfiles(id, to string) {
	root := d.root.Value.(*hujson.Object)
	for _, entry := range slices.Concat(members(root, "profiles"), members(root, "clients")) {
		o, ok := entry.Value.Value.(*hujson.Object)
		if !ok {
			continue
		}
		for _, references := range [][]hujson.ObjectMember{members(o, "servers"), members(o, "accounts")} {
			i := slices.IndexFunc(references, func(m hujson.ObjectMember) bool { return strings.EqualFold(memberName(m), id) })
			if i >= 0 {
				references[i].Name.Value = hujson.String(to)
			}
		}
	}
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

func memberName(m hujson.ObjectMember) string {
	l, _ := m.Name.Value.(hujson.Literal)
	return l.String()
}
