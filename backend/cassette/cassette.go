// Package cassette reads recorded calls of one MCP server from a file and serves them over stdio,
// without the server, a daemon or a network.
//
// A cassette is JSON Lines: a Header in the first line and a Call in each further one. A name in a
// cassette is never used as a path.
package cassette

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Version is the version of the format.
const Version = 1

// The limits of a cassette.
const (
	maxLine  = 16 << 20
	maxFile  = 256 << 20
	maxCalls = 100_000
)

// Header is the first line.
type Header struct {
	Version int               `json:"cassette"`
	Server  string            `json:"server"`
	Tools   []json.RawMessage `json:"tools"`
}

// Call is one recorded tools/call, in the order of recording. Exactly one of Result, Error and
// Unavailable is set.
type Call struct {
	Tool string `json:"tool"`
	// Arguments is the JSON text of an object.
	Arguments string `json:"arguments"`
	// Result is the JSON text of the result. It is a string so that its bytes are preserved.
	Result string `json:"result,omitempty"`
	// Error is the JSON text of a JSON-RPC error.
	Error string `json:"error,omitempty"`
	// Unavailable is why the response cannot be served, for example because it contains redacted secrets.
	Unavailable string `json:"unavailable,omitempty"`
}

// Cassette contains recorded calls. It is not safe for concurrent use.
type Cassette struct {
	Header
	calls map[string][]*Call // by tool and canonical arguments; the first is served next
}

// Read reads a cassette. Errors name the line.
func Read(r io.Reader) (*Cassette, error) {
	limited := &io.LimitedReader{R: r, N: maxFile + 1}
	lines := bufio.NewScanner(limited)
	lines.Buffer(nil, maxLine)
	c := &Cassette{calls: map[string][]*Call{}}
	n := 0
	for lines.Scan() {
		n++
		var err error
		if n == 1 {
			err = c.readHeader(lines.Bytes())
		} else if n > maxCalls+1 {
			err = fmt.Errorf("a cassette has at most %d calls", maxCalls)
		} else {
			err = c.readCall(lines.Bytes())
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("line %d: longer than %d MiB", n+1, maxLine>>20)
	case err != nil:
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	case limited.N == 0:
		return nil, fmt.Errorf("larger than %d MiB", maxFile>>20)
	case n == 0:
		return nil, errors.New("line 1: the file is empty")
	}
	return c, nil
}

func (c *Cassette) readHeader(line []byte) error {
	if err := decodeStrict(line, &c.Header, "cassette", "server", "tools"); err != nil {
		return err
	}
	if c.Version != Version {
		return fmt.Errorf("not a cassette of version %d; export it again with this version of Drawbridge", Version)
	}
	for i, tool := range c.Tools {
		var t struct{ Name string }
		if json.Unmarshal(tool, &t) != nil || t.Name == "" {
			return fmt.Errorf("tools[%d] is not an object with a name", i)
		}
	}
	return nil
}

func (c *Cassette) readCall(line []byte) error {
	call := &Call{}
	if err := decodeStrict(line, call, "tool", "arguments", "result", "error", "unavailable"); err != nil {
		return err
	}
	key, err := callKey(call.Tool, []byte(call.Arguments))
	if err != nil {
		return err
	}
	set := 0
	for _, text := range []*string{&call.Result, &call.Error} {
		if *text == "" {
			continue
		}
		set++
		if !isObject([]byte(*text)) {
			return errors.New("result and error must contain a JSON object as text")
		}
		var line bytes.Buffer
		if bytes.ContainsAny([]byte(*text), "\r\n") && json.Compact(&line, []byte(*text)) == nil {
			*text = line.String() // a message over stdio is one line
		}
	}
	if call.Unavailable != "" {
		set++
	}
	if call.Tool == "" || set != 1 {
		return errors.New("a call needs tool, and exactly one of result, error and unavailable")
	}
	c.calls[key] = append(c.calls[key], call)
	return nil
}

// next returns the next recorded call, the last one repeatedly, or nil if there is none.
func (c *Cassette) next(tool string, arguments []byte) (*Call, error) {
	key, err := callKey(tool, arguments)
	if err != nil {
		return nil, err
	}
	calls := c.calls[key]
	if len(calls) == 0 {
		return nil, nil
	}
	if len(calls) > 1 {
		c.calls[key] = calls[1:]
	}
	return calls[0], nil
}

// callKey returns equal keys for equal tools and equal arguments in any spelling. Numbers keep
// their spelling, because large ones would lose digits.
func callKey(tool string, arguments []byte) (string, error) {
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	if !isObject(arguments) {
		return "", errors.New("arguments must be a JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "", err
	}
	canonical, err := json.Marshal(v)
	return tool + "\x00" + string(canonical), err
}

func isObject(text []byte) bool {
	return json.Valid(text) && bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{"))
}

// decodeStrict decodes an object. It rejects duplicate and unknown keys, because other readers of
// the file could understand them differently.
func decodeStrict(line []byte, to any, known ...string) error {
	if !isObject(line) {
		return errors.New("not a JSON object; the file may be truncated")
	}
	d := json.NewDecoder(bytes.NewReader(line))
	if _, err := d.Token(); err != nil {
		return err
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		if !slices.Contains(known, key) || seen[key] {
			return fmt.Errorf("the key %.50q is unknown or duplicate", key)
		}
		seen[key] = true
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
	}
	return json.Unmarshal(line, to)
}
