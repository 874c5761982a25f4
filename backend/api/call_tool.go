package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/gateway"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
)

type callRequestInput struct {
	By   string `header:"X-Drawbridge-Client" hidden:"true"` // set by loopback.RequireAdmin
	Body CallRequest
}

// call uses the same path as the calls of clients. The failure of the call itself is in the result;
// the error is the reason why no call was made.
func (a *API) call(ctx context.Context, in *callRequestInput) (*answer[CallResult], error) {
	args, err := argumentsOf(in.Body.Arguments)
	if err != nil {
		return nil, err
	}
	client := core.Client{Name: core.CommandClient, Version: a.Version}
	if in.By == loopback.ByBrowser {
		client.Name = core.PageClient
	}
	call := &core.Call{Client: client, ByUser: true, Era: core.Legacy, Server: in.Body.Server, Method: "tools/call", Name: in.Body.Tool, PublicName: in.Body.Tool, Account: in.Body.Account}
	call.Params, call.Arguments, call.ProgressToken = callParams(in.Body.Tool, args)
	said, err := a.callAndAwait(ctx, call)
	return reply(resultOf(call, said, err))
}

// callLive sends a request for a replay as a client, with its approvals.
func (a *API) callLive(ctx context.Context, in *struct{ Body LiveRequest }) (*answer[LiveReply], error) {
	var target struct{ Name, URI string }
	if err := json.Unmarshal([]byte(in.Body.Params), &target); err != nil || target.Name == "" && target.URI == "" {
		return nil, &core.Error{Code: core.CodeValidation, Message: "the request is not valid",
			Fields: []core.FieldError{{Field: "body.params", Error: "must be a JSON object with a name or a uri"}}}
	}
	said, err := a.Live(ctx, in.Body.Server, in.Body.Method, cmp.Or(target.Name, target.URI), json.RawMessage(in.Body.Params))
	if err != nil {
		return nil, err
	}
	return reply(LiveReply{string(said.Result), string(said.Error)})
}

// resultOf returns the result of a call. A task that nobody asked for, or that cannot be used, is a failure.
func resultOf(call *core.Call, said core.Reply, err error) CallResult {
	result := parseToolResult(said, err)
	result.CallID = strconv.FormatInt(call.ID, 10)
	if result.Success && call.Outcome == core.OutcomeProtocolError {
		result.Success, result.Error = false, call.Reason
	}
	return result
}

// argumentsOf returns the arguments in the body of a request: an object, empty if there is none.
func argumentsOf(body JSON) ([]byte, error) {
	args := bytes.TrimSpace(body)
	if len(args) == 0 || string(args) == "null" {
		return []byte(`{}`), nil
	}
	if args[0] != '{' {
		return nil, &core.Error{Code: core.CodeValidation, Message: "the request is not valid",
			Fields: []core.FieldError{{Field: "body.arguments", Error: "must be a JSON object"}}}
	}
	return args, nil
}

// callParams are the params of a call with a progress token, so that observers see its progress.
func callParams(tool string, args []byte) (p json.RawMessage, arguments, token core.Span) {
	name, _ := json.Marshal(tool)
	p = append([]byte(`{"name":`), name...)
	p = append(p, `,"arguments":`...)
	start := len(p)
	p = append(p, args...)
	arguments = core.Span{Start: start, End: len(p)}
	p = append(p, `,"_meta":{"progressToken":`...)
	token = core.Span{Start: len(p), End: len(p) + 1}
	return append(p, `1}}`...), arguments, token
}

// toolResult holds the parts of a result that are needed here. The rest is in raw.
type toolResult struct {
	Content           []json.RawMessage `json:"content"`
	StructuredContent json.RawMessage   `json:"structuredContent"`
	IsError           bool              `json:"isError"`
}

func parseToolResult(r core.Reply, err error) CallResult {
	if err != nil {
		message, hint := core.Describe(err)
		if hint != "" {
			message += ". " + hint
		}
		return CallResult{Error: message, Code: core.CodeOf(err)}
	}
	if len(r.Error) > 0 {
		var e struct {
			Code    json.Number `json:"code"`
			Message string      `json:"message"`
		}
		_ = json.Unmarshal(r.Error, &e)
		text := e.Message
		if text == "" {
			text = core.Shorten(strings.ToValidUTF8(string(r.Error), "\ufffd"), 2000)
		}
		if e.Code != "" {
			text += " (code=" + e.Code.String() + ")"
		}
		return CallResult{Error: text, Raw: JSON(r.Error)}
	}
	var t toolResult
	if json.Unmarshal(r.Result, &t) != nil {
		return CallResult{Success: true, Raw: JSON(r.Result)}
	}
	var parts []string
	for _, c := range t.Content {
		parts = append(parts, contentText(c))
	}
	out := CallResult{Success: !t.IsError, Output: strings.Join(parts, "\n"), Raw: JSON(r.Result)}
	if string(t.StructuredContent) != "null" {
		out.Data = JSON(t.StructuredContent)
	}
	if t.IsError {
		out.Error = gateway.FailureOf(r.Result).Text
	}
	return out
}

// contentText returns a content block as text: the text, or a reference for other types.
func contentText(raw json.RawMessage) string {
	var c struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Data     string `json:"data"`
		MIMEType string `json:"mimeType"`
		URI      string `json:"uri"`
		Name     string `json:"name"`
		Size     int64  `json:"size"`
		Resource struct {
			URI      string `json:"uri"`
			MIMEType string `json:"mimeType"`
			Text     string `json:"text"`
			Blob     string `json:"blob"`
		} `json:"resource"`
	}
	_ = json.Unmarshal(raw, &c)
	switch c.Type {
	case "text":
		return c.Text
	case "image", "audio":
		return fmt.Sprintf("[%s %s, %d bytes]", c.Type, nameOrUnknown(c.MIMEType), decodedSize(c.Data))
	case "resource":
		size := len(c.Resource.Text)
		if c.Resource.Blob != "" {
			size = decodedSize(c.Resource.Blob)
		}
		return fmt.Sprintf("[resource %s %s, %d bytes]", c.Resource.URI, nameOrUnknown(c.Resource.MIMEType), size)
	case "resource_link":
		if c.Size > 0 {
			return fmt.Sprintf("[resource %s %s, %d bytes]", c.URI, nameOrUnknown(c.MIMEType), c.Size)
		}
		return fmt.Sprintf("[resource %s %s]", c.URI, nameOrUnknown(c.MIMEType))
	}
	return fmt.Sprintf("[%s, %d bytes of JSON]", nameOrUnknown(c.Type), len(raw))
}

// decodedSize is the number of bytes that a base64 text encodes.
func decodedSize(text string) int {
	return base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(text, "=")))
}

func nameOrUnknown(s string) string {
	if s == "" {
		return "unknown type"
	}
	return s
}
