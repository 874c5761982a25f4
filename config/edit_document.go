package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/tailscale/hujson"
)

// Document is the text of a JSON file with comments during an edit. Parts that the edit does not
// affect keep their bytes: comments, order, indentation, line endings.
type Document struct {
	root   hujson.Value
	bom    bool
	indent string // of one level
	eol    string
}

var bom = []byte("\xef\xbb\xbf")

// NewDocument parses JSON with comments whose root is an object.
func NewDocument(src []byte) (*Document, error) {
	rest, hadBOM := bytes.CutPrefix(src, bom)
	root, err := ParseJSON(rest)
	if err != nil {
		return nil, err
	}
	object, ok := root.Value.(*hujson.Object)
	if !ok {
		return nil, errors.New("the text contains no JSON object")
	}
	d := &Document{root: root, bom: hadBOM, indent: "  ", eol: "\n"}
	if bytes.Contains(rest, []byte("\r\n")) {
		d.eol = "\r\n"
	}
	d.findIndent(object, 1)
	return d, nil
}

// parseDocument parses the text of a file. Its error names the file, the line and the column.
func parseDocument(file string, src []byte) (*Document, error) {
	if err := CheckEditable(file, src); err != nil {
		return nil, err
	}
	return NewDocument(src)
}

// findIndent sets d.indent from the first member that is on a line of its own.
func (d *Document) findIndent(o *hujson.Object, depth int) bool {
	for i := range o.Members {
		m := &o.Members[i]
		if white := lastLineIndent(m.Name.BeforeExtra); white != "" && len(white)%depth == 0 {
			d.indent = white[:len(white)/depth]
			return true
		}
		if child, ok := m.Value.Value.(*hujson.Object); ok && d.findIndent(child, depth+1) {
			return true
		}
	}
	return false
}

// Bytes returns the current text.
func (d *Document) Bytes() []byte {
	out := d.root.Pack()
	if d.bom {
		out = append(bytes.Clone(bom), out...)
	}
	return out
}

// SetDisabled disables or enables the server called label.
func (d *Document) SetDisabled(label string, disabled bool) error {
	server, depth := d.findServer(label)
	if server == nil {
		return serverNotFoundError(label)
	}
	hasSwitch := false
	for _, m := range slices.Clone(server.Members) {
		name, _ := m.Name.Value.(hujson.Literal)
		switch key := inOurSpelling(name.String()); {
		case slices.Contains(EnabledKeys, key):
			d.setMember(server, name.String(), hujson.Bool(!disabled), depth)
			hasSwitch = true
		case key == "disabled" && name.String() != key:
			d.removeMember(server, name.String())
		}
	}
	switch {
	case disabled && !hasSwitch:
		d.setMember(server, "disabled", hujson.Bool(true), depth)
	case !disabled:
		d.removeMember(server, "disabled")
	}
	return nil
}

// Add appends a server; raw is its JSON object.
func (d *Document) Add(label string, raw json.RawMessage) error {
	if server, _ := d.findServer(label); server != nil {
		return core.Errorf(core.CodeConflict, "a server named %q already exists", label)
	}
	object, depth := d.newServerContainer()
	if object == nil {
		return core.Errorf(core.CodeRejected, "cannot add server %q: the file stores its servers in an array", label)
	}
	if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		return core.Errorf(core.CodeValidation, "cannot add server %q: must be an object", label)
	}
	return d.putJSON(object, label, raw, depth)
}

// Remove removes the server called label and the comments above it.
func (d *Document) Remove(label string) error {
	if s := d.server(label); s != nil {
		s.remove()
		return nil
	}
	return serverNotFoundError(label)
}

// Set changes a setting other than a server, for example bridge, listen. It encodes value as JSON
// and creates missing sections.
func (d *Document) Set(value any, path ...string) error {
	encoded, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return d.Put(encoded, path...)
}

type serversNode struct {
	value *hujson.Value
	depth int  // of the members of value
	mixed bool // something else lies beside the servers
}

// serversNodes returns the places that may contain servers.
func (d *Document) serversNodes() (boxes []serversNode) {
	root := d.root.Value.(*hujson.Object)
	for i := range root.Members {
		m := &root.Members[i]
		name := m.Name.Value.(hujson.Literal).String()
		if name == "mcpServers" || name == "servers" || slices.Contains(OtherServersKeys, name) {
			boxes = append(boxes, serversNode{value: &m.Value, depth: 1})
		}
		if mcp, ok := m.Value.Value.(*hujson.Object); ok && slices.Contains(MixedServersKeys, name) {
			if j := memberIndex(mcp, "servers"); j >= 0 && name == "mcp" {
				boxes = append(boxes, serversNode{value: &mcp.Members[j].Value, depth: 2})
			}
			boxes = append(boxes, serversNode{&m.Value, 1, true})
		}
	}
	return boxes
}

// newServerContainer returns the object to which new servers are added and the depth of its
// members, or nil if the servers are a list.
func (d *Document) newServerContainer() (*hujson.Object, int) {
	boxes := slices.DeleteFunc(d.serversNodes(), func(b serversNode) bool { return b.mixed })
	for _, b := range boxes {
		if o, ok := b.value.Value.(*hujson.Object); ok {
			return o, b.depth
		}
	}
	if len(boxes) > 0 {
		return nil, 0
	}
	root := d.root.Value.(*hujson.Object)
	o := &hujson.Object{}
	d.setMember(root, "mcpServers", o, 0)
	return o, 1
}

type serverNode struct {
	label  *hujson.Value // nil for an element of an array that has no name
	value  *hujson.Value // normally an object
	depth  int           // of the members of value
	remove func()        // removes the server, and the comments above a member of an object
}

func (d *Document) servers() (all []serverNode) {
	for _, b := range d.serversNodes() {
		switch box := b.value.Value.(type) {
		case *hujson.Object:
			for i := range box.Members {
				m := &box.Members[i]
				if entry, isEntry := m.Value.Value.(*hujson.Object); b.mixed && (!isEntry || !slices.ContainsFunc(LaunchKeys, func(key string) bool { return memberIndex(entry, key) >= 0 })) {
					continue
				}
				all = append(all, serverNode{&m.Name, &m.Value, b.depth + 1, func() { d.removeMember(box, memberKey(*m)) }})
			}
		case *hujson.Array:
			for i := range box.Elements {
				s := serverNode{nil, &box.Elements[i], b.depth + 1, func() { d.remove(box, i, false) }}
				if o, ok := s.value.Value.(*hujson.Object); ok {
					if n := memberIndex(o, "name"); n >= 0 {
						s.label = &o.Members[n].Value
					}
				}
				all = append(all, s)
			}
		}
	}
	return all
}

// server returns the server called label, or nil.
func (d *Document) server(label string) *serverNode {
	for _, s := range d.servers() {
		if s.label == nil {
			continue
		}
		if name, ok := stringValue(s.label); ok && name == label {
			return &s
		}
	}
	return nil
}

func (d *Document) findServer(label string) (*hujson.Object, int) {
	s := d.server(label)
	if s == nil {
		return nil, 0
	}
	o, _ := s.value.Value.(*hujson.Object)
	return o, s.depth
}

func memberIndex(o *hujson.Object, name string) int {
	return slices.IndexFunc(o.Members, func(m hujson.ObjectMember) bool {
		l, ok := m.Name.Value.(hujson.Literal)
		return ok && l.Kind() == '"' && l.String() == name
	})
}

func serverNotFoundError(label string) error {
	return core.Errorf(core.CodeNotFound, "the file contains no server %q", label)
}
