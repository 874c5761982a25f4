package reload

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/atomicfile"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Enable switches a server on in the file that defines it.
func (r *Reloader) Enable(ctx context.Context, id string) error { return r.disable(ctx, id, false) }

// Disable switches a server off in the file that defines it.
func (r *Reloader) Disable(ctx context.Context, id string) error { return r.disable(ctx, id, true) }

func (r *Reloader) disable(ctx context.Context, id string, off bool) error {
	s, err := r.server(id)
	if err != nil {
		return err
	}
	return r.Edit(ctx, s.Source.File, func(d *Document) error { return d.SetDisabled(s.Label, off) })
}

// Add adds a server to the main file; raw is its JSON object.
func (r *Reloader) Add(ctx context.Context, label string, raw json.RawMessage) error {
	if err := r.unlocked(); err != nil {
		return err
	}
	if _, taken := r.Current().Server(core.Slug(label)); taken {
		return core.Errorf(core.CodeConflict, "there is already a server %q", core.Slug(label))
	}
	return r.Edit(ctx, r.o.Sources.Main(), func(d *Document) error { return d.Add(label, raw) })
}

// Remove takes a server out of the file that defines it.
func (r *Reloader) Remove(ctx context.Context, id string) error {
	s, err := r.server(id)
	if err != nil {
		return err
	}
	return r.Edit(ctx, s.Source.File, func(d *Document) error { return d.Remove(s.Label) })
}

// Set sets a setting outside of the servers in the main file: Set(ctx, "127.0.0.1:7576", "bridge", "listen").
func (r *Reloader) Set(ctx context.Context, value any, path ...string) error {
	return r.Edit(ctx, r.o.Sources.Main(), func(d *Document) error { return d.Set(value, path...) })
}

func (r *Reloader) server(id string) (config.Server, error) {
	if err := r.unlocked(); err != nil {
		return config.Server{}, err
	}
	s, known := r.Current().Server(id)
	if !known {
		return s, core.Errorf(core.CodeNotFound, "no server is called %q", id)
	}
	return s, nil
}

func (r *Reloader) unlocked() error {
	if why := r.Current().Locked; why != "" {
		return &core.Error{Code: core.CodeRejected, Message: "cannot change servers: " + why,
			Hint: "Unset " + config.EnvServers + " and start Drawbridge again to use the configuration file."}
	}
	return nil
}

// Edit changes one file and applies it before it returns. A file that does not
// exist begins as the starter. Nothing is written when change fails, or when the
// result would not be valid.
func (r *Reloader) Edit(ctx context.Context, file string, change func(*Document) error) error {
	if ext := strings.ToLower(filepath.Ext(file)); ext == ".yaml" || ext == ".yml" {
		return &core.Error{Code: core.CodeRejected, Message: "cannot edit " + file + ": it is YAML", Hint: "Change it in an editor; it is read when you save."}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	unlock, err := atomicfile.Lock(ctx, file)
	if err != nil {
		return cannotWrite(file, err)
	}
	defer unlock()
	for try := 1; ; try++ {
		err := r.editOnce(file, change)
		// An editor, which takes no lock, saved in between: the change is made to its text.
		if !errors.Is(err, atomicfile.ErrChanged) || try == maxEditTries {
			return err
		}
	}
}

// maxEditTries bounds how often an edit begins anew because an editor saved in between.
const maxEditTries = 5

func (r *Reloader) editOnce(file string, change func(*Document) error) error {
	src, existed, err := readOrStarter(file)
	if err != nil {
		return &core.Error{Code: core.CodeUnavailable, Message: "cannot read " + file, Cause: err}
	}
	d, err := NewDocument(src)
	if err != nil {
		return err
	}
	if err := change(d); err != nil {
		return err
	}
	return r.write(file, src, existed, d.Bytes())
}

// readOrStarter returns the bytes of file, or the starter where there is no such file.
func readOrStarter(file string) (src []byte, existed bool, err error) {
	src, err = config.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return config.Starter(), false, nil
	}
	return src, true, err
}

// Text returns the main file and a tag of its bytes.
func (r *Reloader) Text() (path string, text []byte, etag string, err error) {
	path = r.o.Sources.Main()
	text, _, err = readOrStarter(path)
	return path, text, Tag(text), err
}

// Tag names the bytes of a file.
func Tag(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Replace writes a whole new main file, if etag still names the old one. The
// error has a field for each problem of a text that is not valid.
func (r *Reloader) Replace(ctx context.Context, text []byte, etag string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	path := r.o.Sources.Main()
	unlock, err := atomicfile.Lock(ctx, path)
	if err != nil {
		return cannotWrite(path, err)
	}
	defer unlock()
	old, existed, err := readOrStarter(path)
	if err != nil {
		return &core.Error{Code: core.CodeUnavailable, Message: "cannot read " + path, Cause: err}
	}
	if Tag(old) != etag {
		return changedMeanwhile(nil)
	}
	return r.write(path, old, existed, text)
}

func changedMeanwhile(cause error) error {
	return &core.Error{Code: core.CodeConflict, Message: "the configuration file was changed meanwhile", Hint: "Load it again and repeat the edit.", Cause: cause}
}

func cannotWrite(file string, cause error) error {
	return &core.Error{Code: core.CodeUnavailable, Message: "cannot write " + file, Hint: "Check that the file can be written and the disk is not full.", Cause: cause}
}

// write checks, writes and applies new text of a file that held old. It must be called with r.mu held and the
// lock of the file. Its error wraps atomicfile.ErrChanged when the file holds something else
// by now, and nothing was written.
func (r *Reloader) write(file string, old []byte, existed bool, text []byte) error {
	// Problems that were there before are no reason to refuse.
	// Another file may have what one names, so that it is not valid alone.
	was, before := config.Parse(file, old)
	c, after := config.Parse(file, text)
	if c == nil && was != nil || countErrors(after) > countErrors(before) {
		return invalid(after)
	}
	if string(old) != string(text) || !existed {
		switch err := atomicfile.ReplaceUnchanged(file, old, existed, text, 0o600); {
		case errors.Is(err, atomicfile.ErrChanged):
			return changedMeanwhile(err)
		case err != nil:
			return cannotWrite(file, err)
		}
	}
	loaded, problems := r.load()
	r.commit(loaded, problems)
	if loaded == nil {
		return invalid(problems)
	}
	return nil
}

func countErrors(problems []config.Problem) (n int) {
	for _, p := range problems {
		if !p.Warning {
			n++
		}
	}
	return n
}

func invalid(problems []config.Problem) error {
	e := core.Errorf(core.CodeValidation, "the configuration would not be valid")
	for _, p := range problems {
		if !p.Warning {
			e.Fields = append(e.Fields, core.FieldError{Field: p.Key, Error: p.String()})
		}
	}
	return e
}
