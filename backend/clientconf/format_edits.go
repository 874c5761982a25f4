package clientconf

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/config"
)

// editing is a file during edits, one after another. A JSON file is parsed once for many of them: it may have
// thousands of entries.
type editing struct {
	client  Client
	content []byte
	file    document         // content, parsed; nil: not yet
	changed *config.Document // content with the pending edits; nil if there are none
	splices []textSplice     // pending replacements in content
	edited  map[string]bool  // entries with pending edits, and what contains them
}

type textSplice struct {
	start, end int
	text       []byte
}

func newEditing(client Client, content []byte, file document) *editing {
	return &editing{client: client, content: content, file: file}
}

// result returns the file with all edits.
func (e *editing) result() []byte {
	switch {
	case e.changed != nil:
		e.content = e.changed.Bytes()
	case len(e.splices) > 0:
		slices.SortFunc(e.splices, func(a, b textSplice) int { return cmp.Compare(a.start, b.start) })
		var out bytes.Buffer
		last := 0
		for _, s := range e.splices {
			out.Write(e.content[last:s.start])
			out.Write(s.text)
			last = s.end
		}
		out.Write(e.content[last:])
		e.content = out.Bytes()
	default:
		return e.content
	}
	e.file, e.changed, e.splices, e.edited = nil, nil, nil, nil
	return e.content
}

// parsed returns the file as it can be read at the place of an entry.
func (e *editing) parsed(path []string, name string) (file document, err error) {
	key := ""
	pending := false
	for _, step := range append(slices.Clip(path), name) {
		key += "\x00" + step
		pending = pending || e.edited[key+"\x00"]
	}
	if pending || e.edited[key] {
		e.result()
	}
	if e.file == nil {
		e.file, err = parse(e.content, e.client)
	}
	return e.file, err
}

func (e *editing) entry(path []string, name string) ([]byte, json.RawMessage, error) {
	file, err := e.parsed(path, name)
	if err != nil {
		return nil, nil, err
	}
	return file.entry(path, name)
}

// change makes one edit: in the document of a JSON file, or in the text of another one.
func (e *editing) change(path []string, name string, inJSON func(d *config.Document, at []string) error, inText func(document) ([]byte, error)) error {
	_, present, err := e.entry(path, name)
	if err != nil {
		return err
	}
	file, isJSON := e.file.(*jsonFile)
	if !isJSON {
		return e.splice(path, name, present != nil, inText)
	}
	if len(e.splices) > 0 {
		e.result()
	}
	if e.changed == nil {
		if e.changed, err = config.NewDocument(slices.Concat(file.bom, file.src)); err != nil {
			return err
		}
	}
	e.mark(path, name)
	return inJSON(e.changed, append(slices.Clone(path), name))
}

// splice makes one edit in the text. Those of existing entries wait for each other.
func (e *editing) splice(path []string, name string, waits bool, edit func(document) ([]byte, error)) error {
	if !waits || e.changed != nil {
		e.result()
	}
	file, err := e.parsed(path, name)
	if err != nil {
		return err
	}
	content, err := edit(file)
	switch {
	case err != nil:
		return err
	case waits:
		e.splices = append(e.splices, file.latest())
		e.mark(path, name)
	default:
		e.content, e.file = content, nil
	}
	return nil
}

func (e *editing) mark(path []string, name string) {
	if e.edited == nil {
		e.edited = map[string]bool{}
	}
	key := ""
	for _, step := range path {
		key += "\x00" + step
		e.edited[key] = true // its text
	}
	e.edited[key+"\x00"+name], e.edited[key+"\x00"+name+"\x00"] = true, true // it, and what is in it
}

func (e *editing) set(path []string, name string, value json.RawMessage) error {
	return e.change(path, name,
		func(d *config.Document, at []string) error { return d.PutJSON(value, at...) },
		func(f document) ([]byte, error) { return f.set(path, name, value) })
}

// remove removes an existing entry.
func (e *editing) remove(path []string, name string) error {
	if file, err := e.parsed(path, name); err != nil {
		return err
	} else if _, isJSON := file.(*jsonFile); !isJSON { // what is left of the container depends on the others
		return e.splice(path, name, false, func(f document) ([]byte, error) { return f.remove(path, name) })
	}
	return e.change(path, name, func(d *config.Document, at []string) error { d.Delete(true, at...); return nil }, nil)
}

// replace replaces the bytes of an existing entry.
func (e *editing) replace(path []string, name string, raw []byte) error {
	return e.splice(path, name, true, func(f document) ([]byte, error) { return f.replace(path, name, raw) })
}
