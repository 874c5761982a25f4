package cassette

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// revisions are the MCP revisions that Serve speaks, newest first.
var revisions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ProtocolVersion string          `json:"protocolVersion"`
		Name            string          `json:"name"`
		Arguments       json.RawMessage `json:"arguments"`
	} `json:"params"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Serve answers MCP requests, one JSON message per line, until in ends. Recorded responses are
// sent with the bytes of the cassette.
func (c *Cassette) Serve(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var r request
		field, body := "error", []byte(nil)
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil && !json.Valid(lines.Bytes()) {
			r.ID, body = json.RawMessage("null"), encode(rpcError{-32700, "not valid JSON"})
		} else if len(r.ID) == 0 {
			continue // a notification
		} else if err != nil {
			body = encode(rpcError{-32602, "a field of the request has the wrong type"})
		} else {
			field, body = c.respond(&r)
		}
		line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"%s":%s}`+"\n", r.ID, field, body)
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return lines.Err()
}

// respond returns the name and the JSON of the result or error.
func (c *Cassette) respond(r *request) (field string, body []byte) {
	switch r.Method {
	case "initialize":
		version := revisions[0]
		if slices.Contains(revisions, r.Params.ProtocolVersion) {
			version = r.Params.ProtocolVersion
		}
		return "result", encode(map[string]any{
			"protocolVersion": version, "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]any{"name": c.Server, "version": "cassette"},
		})
	case "ping":
		return "result", []byte("{}")
	case "tools/list":
		tools := c.Tools
		if tools == nil {
			tools = []json.RawMessage{}
		}
		return "result", encode(map[string]any{"tools": tools})
	case "tools/call":
		return c.call(r.Params.Name, r.Params.Arguments)
	}
	return "error", encode(rpcError{-32601, "a cassette does not support this method"})
}

func (c *Cassette) call(tool string, arguments []byte) (field string, body []byte) {
	call, err := c.next(tool, arguments)
	switch {
	case err != nil:
		return "error", encode(rpcError{-32602, err.Error()})
	case call == nil:
		return "error", encode(rpcError{-32602, fmt.Sprintf("the cassette has no call of %.200q with these arguments", tool)})
	case call.Unavailable != "":
		return "error", encode(rpcError{-32603, "the cassette cannot serve this call: " + call.Unavailable})
	case call.Error != "":
		return "error", []byte(call.Error)
	}
	return "result", []byte(call.Result)
}

// encode returns v as JSON, without escapes that raw values in it do not have. v contains only
// values that can be encoded.
func encode(v any) []byte {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}
