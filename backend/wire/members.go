package wire

import (
	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Member is one member of an object.
type Member struct {
	Name       []byte    // the decoded key; valid during the visit only
	Key, Value core.Span // raw, the key with its quotes
}

// members validates the object at i, whose keys must be unique, calls visit for every member, and
// returns the index after the object.
func (s *scanner) members(i, depth int, visit func(Member) error) (int, error) {
	var keys keySet
	i = s.space(i + 1)
	if i < len(s.b) && s.b[i] == '}' {
		return i + 1, nil
	}
	for {
		key, from, err := s.key(i)
		if err != nil {
			return from, err
		}
		if err := keys.add(s, key); err != nil {
			return i, err
		}
		if i, err = s.value(from, depth); err != nil {
			return i, err
		}
		m := Member{Name: s.b[key.Start+1 : key.End-1], Key: key, Value: core.Span{Start: from, End: i}}
		if skipPlain(m.Name, 0) < len(m.Name) {
			text, _ := Unquote(s.b[key.Start:key.End])
			m.Name = []byte(text)
		}
		if err := visit(m); err != nil {
			return i, err
		}
		var done bool
		if i, done, err = s.memberEnd(i); err != nil || done {
			return i, err
		}
	}
}

// Members validates obj as one object with unique keys, as ScanParams does, and calls visit for
// every member. It stops at an error of visit and returns it.
func Members(obj []byte, visit func(Member) error) error {
	s := scanner{b: obj}
	i := s.space(0)
	if i >= len(obj) || obj[i] != '{' {
		return &Error{Code: CodeInvalidRequest, Offset: i, Reason: "not an object"}
	}
	i, err := s.members(i, 1, visit)
	if err == nil && s.space(i) < len(obj) {
		_, err = s.parseError(i, "more than one value")
	}
	return err
}

// Pick validates obj as Members does, and returns the values of the members with these names, in the
// order of names. The span of a missing member is empty.
func Pick(obj []byte, names ...string) ([]core.Span, error) {
	values := make([]core.Span, len(names))
	err := Members(obj, func(m Member) error {
		for i, name := range names {
			if string(m.Name) == name {
				values[i] = m.Value
			}
		}
		return nil
	})
	return values, err
}

// WithoutMember returns a copy of obj without the member name. The other members keep their bytes.
func WithoutMember(obj []byte, name string) ([]byte, error) {
	out := []byte{'{'}
	err := Members(obj, func(m Member) error {
		if string(m.Name) == name {
			return nil
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(out, Bytes(obj, m.Key)...), ':')
		out = append(out, Bytes(obj, m.Value)...)
		return nil
	})
	return append(out, '}'), err
}

// Elements validates list as one array and calls visit for every element. It stops at an error of
// visit and returns it.
func Elements(list []byte, visit func(element core.Span) error) error {
	s := scanner{b: list}
	i := s.space(0)
	if i >= len(list) || list[i] != '[' {
		return &Error{Code: CodeInvalidRequest, Offset: i, Reason: "not an array"}
	}
	i = s.space(i + 1)
	for done := i < len(list) && list[i] == ']'; !done; {
		from := i
		var err error
		if i, err = s.value(i, 1); err != nil {
			return err
		}
		if err := visit(core.Span{Start: from, End: i}); err != nil {
			return err
		}
		if i = s.space(i); i >= len(list) {
			_, err = s.parseError(i, "unterminated array")
			return err
		}
		switch list[i] {
		case ',':
			i = s.space(i + 1)
		case ']':
			done = true
		default:
			_, err = s.parseError(i, "no comma between array elements")
			return err
		}
	}
	if s.space(i+1) < len(list) {
		_, err := s.parseError(i+1, "more than one value")
		return err
	}
	return nil
}
