package config

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/tailscale/hujson"
)

// NewProfile is the tag of a profile that must not exist yet.
const NewProfile = "new"

// SetProfile adds or replaces a profile, in the file that defines it or else in the main file.
// raw is its JSON object; nil removes the profile. Unchanged members keep their bytes and
// comments. was is the tag of the profile on which the edit is based, NewProfile if there was
// none, or "" to replace it unconditionally.
func (r *Reloader) SetProfile(ctx context.Context, name string, raw json.RawMessage, was string) error {
	if !core.ValidServerID(name) {
		return core.Errorf(core.CodeValidation, "%q is not a valid profile name: use letters, digits, '-' and '_'", name)
	}
	file := r.o.Sources.Main()
	if p, known := r.Current().Profile(name); known && p.Source.File != "" {
		file = p.Source.File
	}
	return r.Edit(ctx, file, func(d *Document) error {
		if err := d.checkTag(name, was); err != nil {
			return err
		}
		return d.SetObject("profiles", name, raw)
	})
}

// SetClient sets what a client can see in the main file; nil removes the setting.
func (r *Reloader) SetClient(ctx context.Context, token string, raw json.RawMessage) error {
	return r.Edit(ctx, r.o.Sources.Main(), func(d *Document) error { return d.SetObject("clients", token, raw) })
}

// SetClientAccess sets the profile and the approval of a client in the main file. If approval is "", it
// removes all settings of the client there.
func (r *Reloader) SetClientAccess(ctx context.Context, client, profile, approval string) error {
	return r.Edit(ctx, r.o.Sources.Main(), func(d *Document) error {
		d.Delete(false, "clients", client)
		if approval == "" {
			d.Delete(false, "policy", "clients", client)
			d.deleteEmpty(&d.root, "policy", "clients")
			d.deleteEmpty(&d.root, "policy")
		} else if err := d.Set(approval, "policy", "clients", client, "approval"); err != nil {
			return err
		}
		if approval != "" && profile != "" {
			return d.Set(profile, "clients", client, "profile")
		}
		d.deleteEmpty(&d.root, "clients")
		return nil
	})
}

// checkTag returns a conflict error unless the file's profile still has the tag was.
func (d *Document) checkTag(name, was string) error {
	if was == "" {
		return nil
	}
	now, there := d.findProfile(name)
	switch {
	case was == NewProfile && there:
		return &core.Error{Code: core.CodeConflict, Message: "there is already a profile " + strconv.Quote(name), Hint: "Choose another name."}
	case was != NewProfile && !there:
		return &core.Error{Code: core.CodeConflict, Message: "the profile has since been removed from the file", Hint: "Save it under a new name, or discard the edit."}
	case was != NewProfile && now.Tag() != was:
		return &core.Error{Code: core.CodeConflict, Message: "the profile has since been changed in the file", Hint: "Reload it and repeat the edit."}
	}
	return nil
}

// findProfile returns the profile as the file defines it.
func (d *Document) findProfile(name string) (Profile, bool) {
	i := memberIndex(d.root.Value.(*hujson.Object), "profiles")
	if i < 0 {
		return Profile{}, false
	}
	root := hujson.Value{Value: &hujson.Object{Members: []hujson.ObjectMember{d.root.Value.(*hujson.Object).Members[i]}}}
	c, _ := Parse("config.jsonc", root.Pack())
	if c == nil {
		return Profile{}, false
	}
	return c.Profile(name)
}

// SetObject adds or replaces an object in a section, such as a profile in "profiles"; nil removes
// it.
func (d *Document) SetObject(section, name string, raw json.RawMessage) error {
	if raw == nil {
		if !d.Delete(false, section, name) {
			return core.Errorf(core.CodeNotFound, "the main configuration file contains no '%s' in '%s'", name, section)
		}
		d.deleteEmpty(&d.root, section)
		return nil
	}
	if v := find(&d.root, section, name); v != nil {
		if old, ok := v.Value.(*hujson.Object); ok {
			return d.updateObject(old, raw, 2)
		}
	}
	if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		return core.Errorf(core.CodeValidation, "must be an object")
	}
	return d.PutJSON(raw, section, name)
}

// updateObject changes o to equal raw. Members with an equal value keep their bytes; in lists of
// strings, elements that remain keep their position and comments.
func (d *Document) updateObject(o *hujson.Object, raw json.RawMessage, depth int) error {
	var want map[string]json.RawMessage
	if json.Unmarshal(raw, &want) != nil {
		return core.Errorf(core.CodeValidation, "must be an object")
	}
	for i := len(o.Members) - 1; i >= 0; i-- {
		name, ok := o.Members[i].Name.Value.(hujson.Literal)
		if !ok {
			continue
		}
		if _, stays := want[name.String()]; !stays {
			d.removeMember(o, name.String())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		i := memberIndex(o, name)
		if i < 0 {
			if err := d.putJSON(o, name, want[name], depth); err != nil {
				return err
			}
			continue
		}
		member := &o.Members[i].Value
		if sameJSON(member, want[name]) {
			continue
		}
		switch old := member.Value.(type) {
		case *hujson.Object:
			if bytes.HasPrefix(bytes.TrimSpace(want[name]), []byte("{")) {
				if err := d.updateObject(old, want[name], depth+1); err != nil {
					return err
				}
				continue
			}
		case *hujson.Array:
			var words []string
			if json.Unmarshal(want[name], &words) == nil && d.updateStringList(old, words) {
				continue
			}
		}
		if err := d.putJSON(o, name, want[name], depth); err != nil {
			return err
		}
	}
	return nil
}

func sameJSON(v *hujson.Value, raw json.RawMessage) bool {
	old := v.Clone()
	old.Standardize()
	var a, b any
	return json.Unmarshal(old.Pack(), &a) == nil && json.Unmarshal(raw, &b) == nil && reflect.DeepEqual(a, b)
}

// setStringList changes a list of strings, written in one line if it is new; an empty one is removed.
func (d *Document) setStringList(o *hujson.Object, name string, words []string, depth int) error {
	i := memberIndex(o, name)
	if len(words) == 0 {
		d.removeMember(o, name)
		return nil
	}
	if i >= 0 {
		if old, ok := o.Members[i].Value.Value.(*hujson.Array); ok && d.updateStringList(old, words) {
			return nil
		}
	}
	quoted := make([]string, len(words))
	for i, word := range words {
		text, err := json.Marshal(word)
		if err != nil {
			return err
		}
		quoted[i] = string(text)
	}
	return d.put(o, name, []byte("["+strings.Join(quoted, ", ")+"]"), depth)
}

// updateStringList changes an array of strings to contain words, in any order. If the array
// contains other values, or shares no element with words, it changes nothing and reports false.
func (d *Document) updateStringList(array *hujson.Array, words []string) bool {
	stays := func(e hujson.Value) bool {
		word, _ := stringValue(&e)
		return slices.Contains(words, word)
	}
	isNoText := func(e hujson.Value) bool { return e.Value.Kind() != '"' }
	if !slices.ContainsFunc(array.Elements, stays) || slices.ContainsFunc(array.Elements, isNoText) {
		return false
	}
	for i, e := range slices.Backward(slices.Clone(array.Elements)) {
		if !stays(e) {
			d.remove(array, i, false)
		}
	}
	for _, w := range words {
		if !slices.ContainsFunc(array.Elements, func(e hujson.Value) bool { word, _ := stringValue(&e); return word == w }) {
			d.insert(array, len(array.Elements), item{value: hujson.Value{Value: hujson.String(w)}}, 0)
		}
	}
	return true
}
