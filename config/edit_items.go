package config

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/tailscale/hujson"
)

// item is a member of an object or an element of a list, with the comments that belong to it.
type item struct {
	name   hujson.Value // of a member
	value  hujson.Value
	above  hujson.Extra // white space and comments before it
	behind hujson.Extra // comment after it on its line
}

// items are the items of an object or a list during an edit.
type items struct {
	list     []item
	head     hujson.Extra // after the opening bracket on its line
	end      hujson.Extra // before the closing bracket
	trailing bool         // a comma follows the last item
}

func itemsOf(box hujson.ValueTrimmed) (c items) {
	switch box := box.(type) {
	case *hujson.Object:
		for _, m := range box.Members {
			c.list = append(c.list, item{name: m.Name, value: m.Value, above: m.Name.BeforeExtra})
		}
		c.end = box.AfterExtra
	case *hujson.Array:
		for _, e := range box.Elements {
			c.list = append(c.list, item{value: e, above: e.BeforeExtra})
		}
		c.end = box.AfterExtra
	}
	behind := &c.head
	for i := range c.list {
		*behind, c.list[i].above = cutFirstLine(c.list[i].above)
		behind = &c.list[i].behind
		c.trailing = c.list[i].value.AfterExtra != nil
	}
	if len(c.list) > 0 {
		*behind, c.end = cutFirstLine(c.end)
	}
	return c
}

// lastAbove returns the white space and comments before the last item.
func lastAbove(box hujson.ValueTrimmed) (above hujson.Extra) {
	switch box := box.(type) {
	case *hujson.Object:
		if n := len(box.Members); n > 0 {
			above = box.Members[n-1].Name.BeforeExtra
		}
	case *hujson.Array:
		if n := len(box.Elements); n > 0 {
			above = box.Elements[n-1].BeforeExtra
		}
	}
	_, above = cutFirstLine(above)
	return above
}

func (d *Document) store(c *items, box hujson.ValueTrimmed) {
	lead := c.head
	for i := range c.list {
		it := &c.list[i]
		lead = d.join(lead, it.above)
		it.name.BeforeExtra = lead
		switch after := &it.value.AfterExtra; {
		case i < len(c.list)-1:
		case c.trailing && *after == nil:
			*after = hujson.Extra{}
		case !c.trailing: // or it would have a comma
			it.behind, *after = slices.Concat(bytes.TrimRight(*after, " \t"), it.behind), nil
		}
		lead = it.behind
		if _, ok := box.(*hujson.Array); ok {
			it.value.BeforeExtra = it.name.BeforeExtra
		}
	}
	end := d.join(lead, c.end)
	if len(c.list) == 0 && isBlank(end) {
		end = nil
	}
	switch box := box.(type) {
	case *hujson.Object:
		box.Members, box.AfterExtra = nil, end
		for _, it := range c.list {
			box.Members = append(box.Members, hujson.ObjectMember{Name: it.name, Value: it.value})
		}
	case *hujson.Array:
		box.Elements, box.AfterExtra = nil, end
		for _, it := range c.list {
			box.Elements = append(box.Elements, it.value)
		}
	}
}

// join joins the comment on a line with what follows it, which must not become part of the comment.
func (d *Document) join(behind, rest hujson.Extra) hujson.Extra {
	if bytes.Contains(behind, []byte("//")) && bytes.IndexByte(rest, '\n') < 0 {
		return slices.Concat(behind, []byte(d.eol), rest)
	}
	return slices.Concat(behind, rest)
}

// insert inserts an item in the style of its neighbours. depth is the depth of the items; those of the
// root have depth 0.
func (d *Document) insert(box hujson.ValueTrimmed, at int, it item, depth int) {
	c := itemsOf(box)
	n := len(c.list)
	switch {
	case n == 0: // comments come first
		it.above = slices.Concat(bytes.TrimRight(c.end, " \t\r\n"), []byte(d.eol+strings.Repeat(d.indent, depth+1)))
		c.end = hujson.Extra(d.eol + strings.Repeat(d.indent, depth))
	case isOneLine(c.list):
		if it.value.IsStandard() {
			white := it.value.BeforeExtra
			it.value.Minimize()
			it.value.BeforeExtra = white
		}
		it.above = hujson.Extra(" ")
		if white := c.list[n-1].above; n > 1 && isBlank(white) {
			it.above = white
		}
		if at == 0 && isBlank(c.list[0].above) {
			it.above, c.list[0].above = c.list[0].above, it.above
		}
	default:
		it.above = hujson.Extra(d.eol + lastLineIndent(c.list[n-1].above))
	}
	c.list = slices.Insert(c.list, at, it)
	d.store(&c, box)
}

// remove removes an item and the comment on its line, but not the comment on the line of the previous
// item. The comments above it are kept if wanted.
func (d *Document) remove(box hujson.ValueTrimmed, at int, keepComments bool) {
	c := itemsOf(box)
	above := c.list[at].above
	c.list = slices.Delete(c.list, at, at+1)
	follow := &c.end
	if at < len(c.list) {
		follow = &c.list[at].above
		switch hasBreak := bytes.IndexByte(above, '\n') >= 0; {
		case bytes.IndexByte(*follow, '\n') >= 0:
		case hasBreak:
			*follow = slices.Concat([]byte(d.eol+lastLineIndent(above)), bytes.TrimLeft(*follow, " \t"))
		case at == 0 && isBlank(*follow) && isBlank(above):
			*follow = above
		}
	}
	if keepComments && !isBlank(above) {
		*follow = d.join(bytes.TrimRight(above, " \t\r\n"), *follow)
	}
	d.store(&c, box)
}

func isBlank(extra hujson.Extra) bool { return len(bytes.TrimSpace(extra)) == 0 }

// isOneLine reports whether a new item belongs on the line of the last one.
func isOneLine(list []item) bool { return lineEnd(list[len(list)-1].above) < 0 }

// setMember sets the value of a member, or appends the member to o.
func (d *Document) setMember(o *hujson.Object, name string, value hujson.ValueTrimmed, depth int) {
	if i := memberIndex(o, name); i >= 0 {
		o.Members[i].Value.Value = value
		return
	}
	d.insert(o, len(o.Members), item{name: hujson.Value{Value: hujson.String(name)}, value: hujson.Value{Value: value, BeforeExtra: hujson.Extra(" ")}}, depth)
}

// removeMember removes a member, the comments above it and the comment on its line.
func (d *Document) removeMember(o *hujson.Object, name string) {
	if i := memberIndex(o, name); i >= 0 {
		d.remove(o, i, false)
	}
}

// cutFirstLine splits white space and comments at the end of the first line. If there is only one line,
// it belongs to what follows.
func cutFirstLine(extra hujson.Extra) (first, rest hujson.Extra) {
	i := lineEnd(extra)
	if i < 0 {
		return nil, extra
	}
	if i > 0 && extra[i-1] == '\r' {
		i--
	}
	return extra[:i:i], extra[i:]
}

// lineEnd returns where the first line of extra ends, or -1. A comment over several lines belongs to the
// line on which it begins.
func lineEnd(extra hujson.Extra) int {
	at := firstLine.FindIndex(extra)
	if at[1] < len(extra) {
		return at[1]
	}
	return -1
}

var firstLine = regexp.MustCompile(`\A(?s:/\*.*?\*/|//[^\n]*|[^\n/])*`)

// lastLineIndent returns the indentation of the last line of extra.
func lastLineIndent(extra hujson.Extra) string {
	i := bytes.LastIndexByte(extra, '\n')
	if i < 0 {
		return ""
	}
	line := string(extra[i+1:])
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// Edit is one change of a Document, nearly as in RFC 6902.
type Edit struct {
	Op   string `json:"op" enum:"add,remove,move" doc:"add sets a member of an object, and creates missing objects; in a list, it inserts before the element. remove does nothing if there is no such value. move renames a member, or moves an element within its list"`
	Path string `json:"path" maxLength:"2000" doc:"JSON Pointer; empty for the whole file, and with - for the end of a list"`
	From string `json:"from,omitempty" maxLength:"2000" doc:"For move: JSON Pointer to the value"`
	Text string `json:"text,omitempty" maxLength:"2000000" doc:"For add: the value as JSON with comments, in the layout that it has in the file"`
}

// Apply applies edits in order. Comments are kept, except for those of a value that is removed.
func (d *Document) Apply(edits []Edit) error {
	for _, e := range edits {
		path, err := pointerSteps(e.Path)
		if err != nil {
			return err
		}
		switch {
		case e.Op == "add" && len(path) == 0:
			err = d.replace([]byte(e.Text))
		case e.Op == "add":
			err = d.Put([]byte(e.Text), path...)
		case e.Op == "remove":
			d.Delete(false, path...)
		default:
			err = d.move(e.From, path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *Document) replace(text []byte) error {
	other, err := NewDocument(text)
	if err != nil {
		return core.Errorf(core.CodeValidation, "not valid JSON: %v", err)
	}
	*d = *other
	return nil
}

func pointerSteps(pointer string) ([]string, error) {
	steps := strings.Split(pointer, "/")
	if steps[0] != "" {
		return nil, core.Errorf(core.CodeValidation, "'%s' is not a JSON Pointer", pointer)
	}
	for i, step := range steps {
		steps[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
	}
	return steps[1:], nil
}

// find returns the value at a path of keys and indexes in v, or nil.
func find(v *hujson.Value, path ...string) *hujson.Value {
	for _, step := range path {
		i := stepIndex(v.Value, step)
		switch box := v.Value.(type) {
		case *hujson.Object:
			if i >= 0 {
				v = &box.Members[i].Value
			}
		case *hujson.Array:
			if i == len(box.Elements) {
				return nil
			}
			if i >= 0 {
				v = &box.Elements[i]
			}
		}
		if i < 0 {
			return nil
		}
	}
	return v
}

// stepIndex returns the index of the item that a step of a path means, which is the length of a list for
// its end, or -1.
func stepIndex(box hujson.ValueTrimmed, step string) int {
	switch box := box.(type) {
	case *hujson.Object:
		return memberIndex(box, step)
	case *hujson.Array:
		if step == "-" {
			return len(box.Elements)
		}
		if i, err := strconv.ParseUint(step, 10, 31); err == nil && int(i) <= len(box.Elements) {
			return int(i)
		}
	}
	return -1
}

// Put sets the member at a path to a value, or inserts it into a list, and creates missing objects. text
// is JSON with comments, in the layout that it has in the file.
func (d *Document) Put(text []byte, path ...string) error { return d.putIn(&d.root, 0, text, path) }

func (d *Document) putIn(parent *hujson.Value, depth int, text []byte, path []string) error {
	last := len(path) - 1
	for i, key := range path[:last] {
		if o, ok := parent.Value.(*hujson.Object); ok && memberIndex(o, key) < 0 {
			d.setMember(o, key, &hujson.Object{}, depth+i)
		}
		if parent = find(parent, key); parent == nil {
			break
		}
	}
	if parent != nil {
		if parent.Value.Kind() == '{' || stepIndex(parent.Value, path[last]) >= 0 {
			return d.put(parent.Value, path[last], text, depth+last)
		}
	}
	return core.Errorf(core.CodeValidation, "cannot set '%s': it is in something that is not an object", strings.Join(path, "."))
}

func (d *Document) put(box hujson.ValueTrimmed, step string, text []byte, depth int) error {
	value, err := d.parseValue(box, text, depth)
	if err != nil {
		return err
	}
	var to *hujson.Value
	switch box := box.(type) {
	case *hujson.Object:
		d.setMember(box, step, value.Value, depth)
		to = &box.Members[memberIndex(box, step)].Value
	case *hujson.Array:
		i := stepIndex(box, step)
		d.insert(box, i, item{value: hujson.Value{Value: value.Value}}, depth)
		to = &box.Elements[i]
	}
	to.BeforeExtra = slices.Concat(to.BeforeExtra, value.BeforeExtra)
	if !isBlank(value.AfterExtra) {
		to.AfterExtra = append(value.AfterExtra, d.eol...)
	}
	return nil
}

func (d *Document) parseValue(box hujson.ValueTrimmed, text []byte, depth int) (hujson.Value, error) {
	white := strings.Repeat(d.indent, depth+1)
	if above := lastAbove(box); lineEnd(above) >= 0 {
		white = lastLineIndent(above)
	}
	text = bytes.ReplaceAll(bytes.TrimSpace(text), []byte("\r"), nil)
	value, err := ParseJSON(bytes.ReplaceAll(text, []byte("\n"), []byte(d.eol+white)))
	if err != nil {
		return value, core.Errorf(core.CodeValidation, "not valid JSON: %v", err)
	}
	return value, nil
}

// PutJSON sets a member as Put does, to a JSON value that is given a layout.
func (d *Document) PutJSON(raw json.RawMessage, path ...string) error {
	text, err := d.laidOut(raw)
	if err != nil {
		return err
	}
	return d.Put(text, path...)
}

func (d *Document) laidOut(raw json.RawMessage) ([]byte, error) {
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", d.indent); err != nil {
		return nil, core.Errorf(core.CodeValidation, "not valid JSON")
	}
	return out.Bytes(), nil
}

func (d *Document) putJSON(box hujson.ValueTrimmed, step string, raw json.RawMessage, depth int) error {
	text, err := d.laidOut(raw)
	if err != nil {
		return err
	}
	return d.put(box, step, text, depth)
}

// Delete removes the item at a path and reports whether there was one.
func (d *Document) Delete(keepComments bool, path ...string) bool {
	return d.deleteIn(&d.root, keepComments, path)
}

func (d *Document) deleteIn(parent *hujson.Value, keepComments bool, path []string) bool {
	last := len(path) - 1
	if last < 0 {
		return false
	}
	box := find(parent, path[:last]...)
	if box == nil || find(box, path[last]) == nil {
		return false
	}
	d.remove(box.Value, stepIndex(box.Value, path[last]), keepComments)
	return true
}

// deleteEmpty removes the object at a path if it is empty.
func (d *Document) deleteEmpty(parent *hujson.Value, path ...string) {
	if v := find(parent, path...); v != nil {
		if o, ok := v.Value.(*hujson.Object); ok && len(o.Members) == 0 {
			d.deleteIn(parent, false, path)
		}
	}
}

func (d *Document) move(from string, path []string) error {
	old, err := pointerSteps(from)
	if err != nil {
		return err
	}
	last := max(len(path)-1, 0)
	var box *hujson.Value
	if len(path) > 0 && len(old) == len(path) && slices.Equal(old[:last], path[:last]) {
		box = find(&d.root, path[:last]...)
	}
	if box == nil || find(box, old[last]) == nil {
		return core.Errorf(core.CodeValidation, "cannot move '%s': there is no such value, or it would move to another object", from)
	}
	i := stepIndex(box.Value, old[last])
	if o, ok := box.Value.(*hujson.Object); ok {
		if memberIndex(o, path[last]) >= 0 {
			return core.Errorf(core.CodeConflict, "'%s' already exists", path[last])
		}
		o.Members[i].Name.Value = hujson.String(path[last])
		return nil
	}
	c := itemsOf(box.Value)
	moved := c.list[i]
	c.list = slices.Delete(c.list, i, i+1)
	to := stepIndex(box.Value, path[last])
	if to < 0 {
		return core.Errorf(core.CodeValidation, "cannot move '%s': the list is shorter", from)
	}
	c.list = slices.Insert(c.list, min(to, len(c.list)), moved)
	d.store(&c, box.Value)
	return nil
}
