package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// Enable enables a server in the file that defines it.
func (r *Reloader) Enable(ctx context.Context, id string) error { return r.setDisabled(ctx, id, false) }

// Disable disables a server in the file that defines it.
func (r *Reloader) Disable(ctx context.Context, id string) error { return r.setDisabled(ctx, id, true) }

func (r *Reloader) setDisabled(ctx context.Context, id string, disabled bool) error {
	s, err := r.editableServer(id)
	if err != nil {
		return err
	}
	return r.Edit(ctx, s.Source.File, func(d *Document) error { return d.SetDisabled(s.Label, disabled) })
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
	s, err := r.editableServer(id)
	if err != nil {
		return err
	}
	return r.Edit(ctx, s.Source.File, func(d *Document) error { return d.Remove(s.Label) })
}

// Set changes a setting other than a server in the main file, for example Set(ctx,
// "127.0.0.1:7576", "bridge", "listen").
func (r *Reloader) Set(ctx context.Context, value any, path ...string) error {
	return r.Edit(ctx, r.o.Sources.Main(), func(d *Document) error { return d.Set(value, path...) })
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
		return err
	}
	return r.write(file, src, existed, d.Bytes())
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

// Replace writes a complete new main file if etag still matches the current one. If text is
// invalid, the error has a field for each problem.
func (r *Reloader) Replace(ctx context.Context, text []byte, etag string) error {
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
	was, before := Parse(file, old)
	c, after := Parse(file, text)
	if c == nil && was != nil || countErrors(after) > countErrors(before) {
		return validationError(after)
	}
	if string(old) != string(text) || !existed {
		switch err := osutil.ReplaceUnchangedFile(file, old, existed, text); {
		case errors.Is(err, osutil.ErrChanged):
			return conflictError(err)
		case err != nil:
			return writeError(file, err)
		}
	}
	loaded, problems := r.load()
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

func validationError(problems []Problem) error {
	e := core.Errorf(core.CodeValidation, "the configuration would be invalid")
	for _, p := range problems {
		if !p.Warning {
			e.Fields = append(e.Fields, core.FieldError{Field: p.Key, Error: p.String()})
		}
	}
	return e
}
