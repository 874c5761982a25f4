package reload

import (
	"bytes"
	"context"
	"encoding/json"

	"drawbridge/backend/hub"

	"github.com/tailscale/hujson"
)

// SetProfile writes a profile into the main file, in the place of one of that name;
// raw is its JSON object, nil takes it away.
func (r *Reloader) SetProfile(ctx context.Context, name string, raw json.RawMessage) error {
	if !hub.ValidServerID(name) {
		return hub.Errorf(hub.CodeValidation, "%q cannot name a profile: use letters, digits, '-' and '_'", name)
	}
	return r.setObject(ctx, raw, "profiles", name)
}

// SetClient writes what one client sees into the main file; nil takes it away.
func (r *Reloader) SetClient(ctx context.Context, token string, raw json.RawMessage) error {
	return r.setObject(ctx, raw, "clients", token)
}

func (r *Reloader) setObject(ctx context.Context, raw json.RawMessage, section, name string) error {
	return r.Edit(ctx, r.o.Sources.Main(), func(d *Document) error { return d.SetObject(section, name, raw) })
}

// SetObject writes an object under a name into a section, such as a profile, in the place
// of one of that name; nil takes it away.
func (d *Document) SetObject(section, name string, raw json.RawMessage) error {
	root := d.root.Value.(*hujson.Object)
	object, err := d.child(root, section, 0)
	if err != nil {
		return err
	}
	if raw == nil {
		if find(object, name) < 0 {
			return hub.Errorf(hub.CodeNotFound, "the main configuration file has no '%s' in '%s'", name, section)
		}
		if d.remove(object, name); len(object.Members) == 0 {
			d.remove(root, section)
		}
		return nil
	}
	value, err := d.pretty(raw, 2)
	if err != nil {
		return err
	}
	d.put(object, name, value, 1)
	return nil
}

// pretty lays an object out as its neighbours at a depth are.
func (d *Document) pretty(raw json.RawMessage, depth int) (hujson.ValueTrimmed, error) {
	var out bytes.Buffer
	prefix := ""
	for range depth {
		prefix += d.indent
	}
	if err := json.Indent(&out, raw, prefix, d.indent); err != nil {
		return nil, hub.Errorf(hub.CodeValidation, "not valid JSON")
	}
	value, err := hujson.Parse(bytes.ReplaceAll(bytes.TrimSpace(out.Bytes()), []byte("\n"), []byte(d.eol)))
	if err != nil {
		return nil, hub.Errorf(hub.CodeValidation, "not valid JSON")
	}
	if _, ok := value.Value.(*hujson.Object); !ok {
		return nil, hub.Errorf(hub.CodeValidation, "must be an object")
	}
	return value.Value, nil
}
