package cassette

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// index finds the recorded calls to a request. It is not safe for concurrent use.
type index struct {
	// exact has the calls by target and canonical arguments; the first is served next. Calls
	// without a response are only in it if all calls of the key have none.
	exact    map[string][]*Call
	byTarget map[string][]*Call // by target, in the order of recording
}

func newIndex(calls []Call) *index {
	x := &index{exact: map[string][]*Call{}, byTarget: map[string][]*Call{}}
	for i := range calls {
		c := &calls[i]
		arguments, err := canonical([]byte(c.Arguments))
		if err != nil {
			continue // Read and Recorder have checked it
		}
		key := c.target() + string(arguments)
		x.exact[key] = append(x.exact[key], c)
		x.byTarget[c.target()] = append(x.byTarget[c.target()], c)
	}
	for key, calls := range x.exact {
		if complete := slices.DeleteFunc(slices.Clone(calls), func(c *Call) bool { return c.Unavailable != "" }); len(complete) > 0 {
			x.exact[key] = complete
		}
	}
	return x
}

// target identifies what is called.
func (c *Call) target() string {
	switch {
	case c.Prompt != "":
		return "prompt\x00" + c.Prompt + "\x00"
	case c.Resource != "":
		return "resource\x00" + c.Resource + "\x00"
	}
	return "tool\x00" + c.Tool + "\x00"
}

// next returns the next recorded call, the last one repeatedly, or nil if there is none.
func (x *index) next(target string, arguments []byte) *Call {
	key := target + string(arguments)
	calls := x.exact[key]
	if len(calls) == 0 {
		return nil
	}
	if len(calls) > 1 {
		x.exact[key] = calls[1:]
	}
	return calls[0]
}

// nearest returns the recorded call of the same target whose arguments resemble arguments most, or
// nil if none has a result: most equal members, then fewest others, then the longest common
// beginning, then the order of recording.
func (x *index) nearest(target string, arguments []byte) (best *Call) {
	wanted := members(arguments)
	var score [3]int
	for _, c := range x.byTarget[target] {
		if c.Result == "" {
			continue
		}
		recorded, err := canonical([]byte(c.Arguments))
		if err != nil {
			continue
		}
		has, equal := members(recorded), 0
		for name, value := range wanted {
			if other, ok := has[name]; ok && bytes.Equal(value, other) {
				equal++
			}
		}
		s := [3]int{equal, -(len(wanted) + len(has) - 2*equal), commonPrefix(arguments, recorded)}
		if best == nil || s[0] > score[0] || s[0] == score[0] && (s[1] > score[1] || s[1] == score[1] && s[2] > score[2]) {
			best, score = c, s
		}
	}
	return best
}

func members(object []byte) (m map[string]json.RawMessage) {
	_ = json.Unmarshal(object, &m) // canonical has validated it
	return m
}

func commonPrefix(a, b []byte) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// canonical returns equal texts for equal arguments in any spelling; none are {}. Numbers keep
// their spelling, because large ones would lose digits.
func canonical(arguments []byte) ([]byte, error) {
	if text := bytes.TrimSpace(arguments); len(text) == 0 || string(text) == "null" {
		return []byte("{}"), nil
	}
	if !isObject(arguments) {
		return nil, errors.New("arguments must be a JSON object")
	}
	var v any
	if err := core.DecodeJSON(arguments, &v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}
