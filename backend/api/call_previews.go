package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/store/fulltext"
)

// previewsInput names the calls that are visible in a list.
type previewsInput struct {
	IDs  string `query:"ids" required:"true" pattern:"^[0-9]{1,18}(,[0-9]{1,18})*$" maxLength:"1900" doc:"Ids of at most 100 calls, separated by commas"`
	Text string `query:"q" maxLength:"1000" doc:"Text of the search that found the calls"`
}

// CallPreview is what a list shows of the payloads of a call.
type CallPreview struct {
	ID        string `json:"id"`
	Arguments string `json:"arguments" doc:"The arguments as one line of NAME: VALUE, at most 200 bytes"`
	Match     string `json:"match,omitempty" doc:"Excerpt of at most 200 bytes around a word of q that is not in the first 200 bytes of the arguments"`
	MatchIn   string `json:"matchIn,omitempty" enum:"arguments,reply" doc:"Where the excerpt in 'match' comes from"`
}

func (a *API) previews(ctx context.Context, in *previewsInput) (*answer[List[CallPreview]], error) {
	var ids []int64
	for id := range strings.SplitSeq(in.IDs, ",") {
		n := parseID(id)
		ids = append(ids, n)
	}
	found, err := a.History.Previews(ctx, ids, in.Text)
	if err != nil {
		return nil, err
	}
	list := List[CallPreview]{Items: make([]CallPreview, len(found))}
	for i, p := range found {
		list.Items[i] = CallPreview{ID: strconv.FormatInt(p.ID, 10), Arguments: argumentLine(p.Arguments), Match: p.Match}
		if p.Match != "" {
			list.Items[i].MatchIn = map[bool]string{false: "arguments", true: "reply"}[p.InReply]
		}
	}
	return reply(list)
}

// argumentLine returns JSON arguments, which may be truncated, as one line of at most
// store.PreviewBytes bytes.
func argumentLine(raw []byte) string {
	if string(raw) == "null" {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return truncateLine(fulltext.AppendText(nil, raw))
	}
	var line []byte
	for len(line) <= store.PreviewBytes && d.More() {
		name, err := d.Token()
		if err != nil {
			break
		}
		if len(line) > 0 {
			line = append(line, ", "...)
		}
		line = fmt.Appendf(line, "%s: ", name)
		start := d.InputOffset()
		var value json.RawMessage
		if d.Decode(&value) != nil { // truncated
			rest := bytes.TrimPrefix(bytes.TrimLeft(raw[start:], ": \t\r\n"), []byte(`"`))
			line = fulltext.AppendText(line, rest)
			break
		}
		var text *string // nil for null
		if json.Unmarshal(value, &text) == nil && text != nil {
			value = json.RawMessage(*text)
		}
		line = append(line, value...)
	}
	return truncateLine(line)
}

// truncateLine joins the lines of text and truncates it.
func truncateLine(text []byte) string {
	const end = "…"
	line := string(bytes.Join(bytes.Fields(bytes.ToValidUTF8(text, nil)), []byte(" ")))
	if len(line) <= store.PreviewBytes {
		return line
	}
	return core.CutBytes(line, store.PreviewBytes-len(end)) + end
}
