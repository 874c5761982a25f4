package config

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"

	"github.com/tailscale/hujson"
)

// Enable enables a server in the file that defines it.
func (r *Reloader) Enable(ctx context.Context, id string) error { return r.setDisabled(ctx, id, false) }

// Disable disables a server in the file that defines it.
func (r *Reloader) Disable(ctx context.Context, id string) error { return r.setDisabled(ctx, id, true) }

func (r *Reloader) setDisabled(ctx context.Context, id string, disabled bool) error {
	return r.editServer(ctx, id, func(d *Document, label string) error { return d.SetDisabled(label, disabled) })
}

// Add adds a server to the main file; raw is its JSON object.
func (r *Reloader) Add(ctx context.Context, label string, raw json.RawMessage) error {
	if err := r.checkUnlocked(); err != nil {
		return err
	}
	if _, taken := r.Current().Server(core.Slug(label)); taken {
		return core.Errorf(core.CodeConflict, "a server named %q already exists", core.Slug(label))
	}
	return r.Edit(ctx, r.o.Sources.Main(), func(d *Document) error { return d.Add(label, raw) })
}

// Remove removes a server from the file that defines it.
func (r *Reloader) Remove(ctx context.Context, id string) error {
	return r.editServer(ctx, id, (*Document).Remove)
}

// Set changes a setting other than a server in the main file, for example Set(ctx,
// "127.0.0.1:7576", "bridge", "listen").
func (r *Reloader) Set(ctx context.Context, value any, path ...string) error {
	return r.Edit(ctx, r.o.Sources.Main(), func(d *Document) error { return d.Set(value, path...) })
}

func (r *Reloader) editServer(ctx context.Context, id string, change func(d *Document, label string) error) error {
	s, err := r.editableServer(id)
	if err != nil {
		return err
	}
	return r.Edit(ctx, s.Source.File, func(d *Document) error { return change(d, s.Label) })
}

func (r *Reloader) editableServer(id string) (Server, error) {
	if err := r.checkUnlocked(); err != nil {
		return Server{}, err
	}
	s, known := r.Current().Server(id)
	if !known {
		return s, core.Errorf(core.CodeNotFound, "there is no server named %q", id)
	}
	return s, nil
}

func (r *Reloader) checkUnlocked() error {
	if why := r.Current().Locked; why != "" {
		return &core.Error{Code: core.CodeRejected, Message: "cannot change servers: " + why,
			Hint: "Unset " + EnvServers + " and start Drawbridge again to use the configuration file."}
	}
	return nil
}

// Edit changes a file and applies the result before it returns. A file that does not exist is
// created: see textOf. Nothing is written if change fails or the result is invalid.
func (r *Reloader) Edit(ctx context.Context, file string, change func(*Document) error) error {
	if err := checkEditable(file); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.checkHeld(ctx, file); err != nil {
		return err
	}
	unlock, err := osutil.LockBeside(ctx, file)
	if err != nil {
		return writeError(file, err)
	}
	defer unlock()
	for try := 1; ; try++ {
		err := r.editOnce(file, change)
		// An editor, which takes no lock, saved in the meantime: apply the change to the new
		// text.
		if !errors.Is(err, osutil.ErrChanged) || try == maxEditTries {
			return err
		}
	}
}

// checkHeld returns an error if a change of the files is held back: an edit of them would apply it. A
// main file that was removed is written again.
func (r *Reloader) checkHeld(ctx context.Context, file string) error {
	if r.fileStamp() != r.readStamp {
		r.reload(ctx, "")
	}
	if main := r.o.Sources.Main(); len(r.refused) > 0 && r.refused[0].Held != "" && (file != main || exists(main)) {
		return r.heldError()
	}
	return nil
}

// checkEditable returns an error for a file whose format Document cannot edit.
func checkEditable(file string) error {
	if !IsYAML(file) {
		return nil
	}
	return CheckEditable(file, nil)
}

// maxEditTries is the maximum number of attempts to edit a file that an editor keeps saving.
const maxEditTries = 5

func (r *Reloader) editOnce(file string, change func(*Document) error) error {
	src, existed, err := r.textOf(file)
	if err != nil {
		return &core.Error{Code: core.CodeUnavailable, Message: "cannot read " + file, Cause: err}
	}
	d, err := parseDocument(file, src)
	if err != nil {
		return err
	}
	if err := change(d); err != nil {
		_, problems := Parse(file, src)
		if i := slices.IndexFunc(problems, func(p Problem) bool { return !p.Warning }); i >= 0 && core.CodeOf(err) == core.CodeNotFound {
			return EditError(problems[i]) // such as that servers are under a misspelled key
		}
		return err
	}
	if err := HiddenError(file, src, d.Bytes()); err != nil {
		return err
	}
	return r.write(file, src, existed, d.Bytes())
}

// HiddenError returns the first error of a file that a change would make a warning: servers under a
// misspelled key would stop when the right key is added beside it.
func HiddenError(file string, before, after []byte) error {
	if len(bytes.TrimSpace(before)) == 0 {
		return nil
	}
	_, earlier := Parse(file, before)
	if !HasErrors(earlier) {
		return nil
	}
	_, left := Parse(file, after)
	for _, p := range earlier {
		if !p.Warning && slices.ContainsFunc(left, func(l Problem) bool { return l.Warning && l.Key == p.Key && l.Message == p.Message }) {
			return EditError(p)
		}
	}
	return nil
}

// textOf returns the content of file. If it does not exist, that is its last valid content, because
// its servers still run: an edit must not remove them. A file that never existed starts as
// config.Starter.
func (r *Reloader) textOf(file string) (src []byte, existed bool, err error) {
	src, err = ReadFile(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return src, true, err
	}
	if text, known := r.Current().TextOf(file); known {
		return text, false, nil
	}
	return Starter(), false, nil
}

// Text returns the path and the text of the main file, and its etag.
func (r *Reloader) Text() (path string, text []byte, etag string, err error) {
	path = r.o.Sources.Main()
	text, _, err = r.textOf(path)
	return path, text, ETag(text), err
}

// ETag returns the etag of a file's content.
func ETag(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// AnyETag is an etag for TryPatch that matches every content.
const AnyETag = "*"

// Replace writes a complete new main file if etag still matches the current one. If text is
// invalid, the error has a field for each problem.
func (r *Reloader) Replace(ctx context.Context, text []byte, etag string) error {
	return r.change(ctx, etag, func([]byte) ([]byte, error) { return text, nil })
}

// Patch applies edits to the main file if etag still matches it.
func (r *Reloader) Patch(ctx context.Context, edits []Edit, etag string) error {
	return r.change(ctx, etag, func(old []byte) ([]byte, error) {
		if err := r.checkHeld(ctx, r.o.Sources.Main()); err != nil {
			return nil, err
		}
		return r.patched(old, edits)
	})
}

// TryPatch returns the text that Patch would write, and its problems.
func (r *Reloader) TryPatch(edits []Edit, etag string) ([]byte, []Problem, error) {
	path, old, now, err := r.Text()
	if err == nil && etag != now && etag != AnyETag {
		err = conflictError(nil)
	}
	if err != nil {
		return nil, nil, err
	}
	text, err := r.patched(old, edits)
	_, problems := Parse(path, text)
	return text, problems, err
}

func (r *Reloader) patched(old []byte, edits []Edit) ([]byte, error) {
	if len(bytes.TrimSpace(old)) == 0 {
		old = []byte("{}\n")
	}
	d, err := parseDocument(r.o.Sources.Main(), old)
	if err != nil {
		return nil, err
	}
	if err := d.Apply(edits); err != nil {
		return d.Bytes(), err
	}
	return d.Bytes(), HiddenError(r.o.Sources.Main(), old, d.Bytes())
}

// change replaces the text of the main file if etag still matches it.
func (r *Reloader) change(ctx context.Context, etag string, edit func(old []byte) ([]byte, error)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	path := r.o.Sources.Main()
	unlock, err := osutil.LockBeside(ctx, path)
	if err != nil {
		return writeError(path, err)
	}
	defer unlock()
	old, existed, err := r.textOf(path)
	if err != nil {
		return &core.Error{Code: core.CodeUnavailable, Message: "cannot read " + path, Cause: err}
	}
	if ETag(old) != etag {
		return conflictError(nil)
	}
	text, err := edit(old)
	if err != nil {
		return err
	}
	return r.write(path, old, existed, text)
}

func conflictError(cause error) error {
	return &core.Error{Code: core.CodeConflict, Message: "the configuration file has changed in the meantime", Hint: "Reload it and repeat the edit.", Cause: cause}
}

func writeError(file string, cause error) error {
	return &core.Error{Code: core.CodeUnavailable, Message: "cannot write " + file, Hint: "Check that the file can be written and the disk is not full.", Cause: cause}
}

// write validates, writes and applies the new text of a file whose content was old. It must be
// called with r.mu and the lock of the file held. If the file has changed since, nothing is
// written and the error wraps osutil.ErrChanged.
func (r *Reloader) write(file string, old []byte, existed bool, text []byte) error {
	// Only new problems are a reason to reject the text. The file need not be valid alone: it may
	// refer to definitions in another file.
	if c, after := Parse(file, text); c == nil || HasErrors(after) {
		was, before := Parse(file, old)
		if c == nil && was != nil || countErrors(after) > countErrors(before) {
			return validationError(after)
		}
	}
	if string(old) != string(text) || !existed {
		switch err := osutil.ReplaceUnchangedFile(file, old, existed, text); {
		case errors.Is(err, osutil.ErrChanged):
			return conflictError(err)
		case err != nil:
			return writeError(file, err)
		}
	}
	loaded, problems := r.load(AnyETag)
	r.commit(loaded, problems)
	if loaded == nil {
		return validationError(problems)
	}
	return nil
}

func countErrors(problems []Problem) (n int) {
	for _, p := range problems {
		if !p.Warning {
			n++
		}
	}
	return n
}

func validationError(problems []Problem) *core.Error {
	e := core.Errorf(core.CodeValidation, "the configuration would be invalid")
	for _, p := range problems {
		if !p.Warning {
			e.Fields = append(e.Fields, core.FieldError{Field: p.Key, Error: p.String()})
		}
	}
	return e
}

// HideTools hides tools from clients, or shows them again, with one edit per file. tools maps server
// ids to the servers' own tool names. If a server does not exist, nothing is written. Other
// settings of the tools are unchanged.
func (r *Reloader) HideTools(ctx context.Context, tools map[string][]string, hide bool) error {
	files := map[string][]Server{}
	for _, id := range slices.Sorted(maps.Keys(tools)) {
		s, err := r.editableServer(id)
		if err != nil {
			return err
		}
		if slices.Contains(tools[id], "") {
			return core.Errorf(core.CodeValidation, "a tool has no name")
		}
		files[s.Source.File] = append(files[s.Source.File], s)
	}
	for file, servers := range files {
		err := r.Edit(ctx, file, func(d *Document) error {
			for _, s := range servers {
				if err := d.hideTools(s.Label, tools[s.ID], hide); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// hideTools adds tools to excludeTools of the server called label, which is one line for any number
// of them, or removes what hides exactly one of them.
func (d *Document) hideTools(label string, names []string, hide bool) error {
	server, depth := d.findServer(label)
	if server == nil {
		return serverNotFoundError(label)
	}
	var list []string
	if v := find(&hujson.Value{Value: server}, HiddenByExclude); v != nil {
		words, isList := v.Value.(*hujson.Array)
		if !isList {
			return core.Errorf(core.CodeValidation, "'%s' of server %q is not a list", HiddenByExclude, label)
		}
		for _, e := range words.Elements {
			word, _ := stringValue(&e)
			list = append(list, word)
		}
	}
	was := len(list)
	if !hide {
		list = slices.DeleteFunc(list, func(name string) bool { return slices.Contains(names, name) })
	}
	for _, name := range names {
		switch {
		case strings.ContainsAny(name, "*?"):
			return core.Errorf(core.CodeValidation, "the tool %q cannot be named in the configuration: '*' and '?' stand for other characters", name)
		case hide && !slices.Contains(list, name):
			list = append(list, name)
		case !hide:
			if err := d.SetTool(label, name, map[string]json.RawMessage{"enabled": nil}); err != nil {
				return err
			}
		}
	}
	if len(list) == was {
		return nil
	}
	return d.setStringList(server, HiddenByExclude, list, depth)
}

// SetSandbox sets the sandbox of a server to a value in JSON: a mode or an object.
func (r *Reloader) SetSandbox(ctx context.Context, id string, value json.RawMessage) error {
	return r.editServer(ctx, id, func(d *Document, label string) error { return d.SetSandbox(label, value) })
}

// SetSandbox sets the sandbox of a server. If it is an object, a mode keeps its other settings, and
// another object the comments in it.
func (d *Document) SetSandbox(label string, value json.RawMessage) error {
	server, depth := d.findServer(label)
	if server == nil {
		return serverNotFoundError(label)
	}
	i := memberIndex(server, "sandbox")
	if i >= 0 && server.Members[i].Value.Value.Kind() == '{' {
		current := server.Members[i].Value.Value.(*hujson.Object)
		if bytes.HasPrefix(value, []byte("{")) {
			return d.updateObject(current, value, depth+1)
		}
		return d.put(current, "mode", value, depth+1)
	}
	return d.put(server, "sandbox", value, depth)
}

// SetArgument replaces the argument with index at of a server in the file that defines it, or the
// server's image if at is -1. The rest of the file, including comments, is unchanged. It fails
// with CodeConflict unless the current value is was.
func (r *Reloader) SetArgument(ctx context.Context, id string, at int, was, now string) error {
	return r.editServer(ctx, id, func(d *Document, label string) error { return d.SetArgument(label, at, was, now) })
}

// SetArgument replaces the argument with index at of the server called label, or its image if at
// is -1.
func (d *Document) SetArgument(label string, at int, was, now string) error {
	server, _ := d.findServer(label)
	if server == nil {
		return serverNotFoundError(label)
	}
	path := []string{"docker", "image"}
	if at >= 0 {
		path = []string{"args", strconv.Itoa(at)}
	}
	v := find(&hujson.Value{Value: server}, path...)
	if v != nil {
		if text, ok := stringValue(v); ok && text == was {
			v.Value = hujson.String(now)
			return nil
		}
	}
	return &core.Error{Code: core.CodeConflict, Message: "the server's entry has changed in the meantime", Hint: "Review it again."}
}

// SetTools changes settings of tools in the file that defines their server, in one edit. A key whose
// value is nil or null is removed.
func (r *Reloader) SetTools(ctx context.Context, id string, tools []string, set map[string]json.RawMessage) error {
	return r.editServer(ctx, id, func(d *Document, label string) error {
		for _, tool := range tools {
			if err := d.SetTool(label, tool, set); err != nil {
				return err
			}
		}
		return nil
	})
}

// SetTool changes settings of a tool of the server called label. A key whose value is nil or null
// is removed; objects that become empty are removed too.
func (d *Document) SetTool(label, tool string, set map[string]json.RawMessage) error {
	server, depth := d.findServer(label)
	if server == nil {
		return serverNotFoundError(label)
	}
	entry := &hujson.Value{Value: server}
	for _, key := range slices.Sorted(maps.Keys(set)) {
		path, raw := []string{"tools", tool, key}, bytes.TrimSpace(set[key])
		if len(raw) == 0 || string(raw) == "null" {
			d.deleteIn(entry, false, path)
		} else if err := d.putIn(entry, depth, raw, path); err != nil {
			return err
		}
	}
	d.deleteEmpty(entry, "tools", tool)
	d.deleteEmpty(entry, "tools")
	return nil
}

// AddArgumentRule adds a rule to policy.rules, before the one with the key before in the file that
// holds it, or as the last one of the main file if before is "".
func (r *Reloader) AddArgumentRule(ctx context.Context, before string, rule json.RawMessage) error {
	file, at := r.o.Sources.Main(), -1
	var id string
	if before != "" {
		rules := r.Current().Policy.Arguments
		i := slices.IndexFunc(rules, func(a ArgumentRule) bool { return a.Key == before })
		if i < 0 {
			return core.Errorf(core.CodeConflict, "%s is no longer in the configuration", before)
		}
		file, at, id = rules[i].Source.File, rules[i].Index, ruleText(&rules[i])
	}
	return r.Edit(ctx, file, func(d *Document) error {
		if now, problems := ParseArgumentRules("config.jsonc", d.Bytes()); at >= 0 && (len(problems) > 0 || at >= len(now) || ruleText(&now[at]) != id) {
			return core.Errorf(core.CodeConflict, "the rules in the file have since been changed")
		}
		return d.InsertRule(at, rule)
	})
}

func ruleText(a *ArgumentRule) string {
	raw, _ := json.Marshal(a) // strings, numbers and lists of them: cannot fail
	return string(raw)
}

// InsertRule inserts a rule into policy.rules at an index, or at the end if it is negative.
// Comments of the other rules are kept.
func (d *Document) InsertRule(at int, raw json.RawMessage) error {
	path := []string{"policy", "rules", "-"}
	if list := find(&d.root, path[:2]...); list == nil {
		if err := d.Put([]byte("[]"), path[:2]...); err != nil {
			return err
		}
	} else if at >= 0 && stepIndex(list.Value, strconv.Itoa(at)) >= 0 {
		path[2] = strconv.Itoa(at)
	}
	return d.PutJSON(raw, path...)
}

// CheckEditable returns why Drawbridge cannot edit a file with the content src: only JSON objects can
// be edited without changing the text around the edit.
func CheckEditable(file string, src []byte) error {
	if IsYAML(file) {
		return &core.Error{Code: core.CodeRejected, Message: "cannot edit " + file + ": it is YAML", Hint: "Edit it in a text editor; it is reloaded when you save it."}
	}
	root, problem := tree(file, src)
	if problem == nil && root.kind != kindObject {
		problem = refuse(root.at, "a configuration must be an object, not "+root.kind.String(), "")
	}
	if problem != nil {
		return EditError(*problem)
	}
	return nil
}

// EditError is the error for a file that cannot be edited because of a problem in it.
func EditError(p Problem) error {
	return &core.Error{Code: core.CodeValidation, Message: "cannot edit " + p.String(),
		Hint: `Correct the file in a text editor; "drawbridge validate" lists its errors.`}
}
