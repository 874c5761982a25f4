package history

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/cassette"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// RecordingSource reads what a recording consists of. *store.Store implements it.
type RecordingSource interface {
	Calls
	// LastCatalog returns what a server listed last, or nil.
	LastCatalog(ctx context.Context, server string) (*core.Catalog, error)
	// RedactJSON returns JSON text without the secrets that are removed from recorded calls.
	RedactJSON(text []byte) []byte
}

// ReadRecording returns the calls that q selects as a recording of the server q.Server, with the
// catalog that the server listed last, without secrets. Responses that were redacted or truncated
// become unavailable; calls without a response, or with such arguments, are skipped and counted. If
// q has no account, all calls must have used the same one, because results of several accounts must
// not be mixed.
func ReadRecording(ctx context.Context, from RecordingSource, q store.Query) (*cassette.Recording, error) {
	catalog, err := from.LastCatalog(ctx, q.Server)
	if err != nil {
		return nil, err
	}
	if catalog == nil {
		return nil, &core.Error{Code: core.CodeNotFound, Message: "no tools are known for this server",
			Hint: "Start it with \"drawbridge start\", or list the servers with \"drawbridge status\"."}
	}
	r := &cassette.Recorder{}
	r.Header = cassette.Header{
		Version: cassette.Version, Server: q.Server, ServerInfo: catalog.Info, Instructions: catalog.Instructions,
		Tools: definitions(catalog.Tools), Prompts: definitions(catalog.Prompts),
		Resources: definitions(catalog.Resources), ResourceTemplates: definitions(catalog.Templates),
	}
	if err := r.Header.Redact(from.RedactJSON); err != nil {
		return nil, err
	}
	ids, err := recordedRequests(ctx, from, q)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		full, err := from.Call(ctx, id)
		if core.CodeOf(err) == core.CodeNotFound {
			continue // deleted in the meantime
		} else if err != nil {
			return nil, err
		}
		call, ok := recordedCall(full)
		if !ok {
			r.End.Skipped++
			continue
		}
		if err := r.Add(call); err != nil {
			return nil, &core.Error{Code: core.CodeValidation, Message: err.Error()}
		}
	}
	if len(r.Calls) == 0 {
		return nil, &core.Error{Code: core.CodeNotFound, Message: "none of the recorded calls can be replayed",
			Hint: "\"drawbridge history\" shows what is recorded."}
	}
	return &r.Recording, nil
}

func definitions(items []core.Item) []json.RawMessage {
	list := make([]json.RawMessage, len(items))
	for i := range items {
		list[i] = items[i].Raw
	}
	return list
}

// recordedRequests returns the ids of the calls that a cassette may contain, oldest first.
func recordedRequests(ctx context.Context, from Calls, q store.Query) (ids []int64, err error) {
	account, first := q.Account, ""
	if account == core.DefaultAccount {
		q.Account = "" // calls of the time before the server had accounts have none
	}
	for q.Limit = store.MaxLimit; ; {
		page, next, err := from.Calls(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range page {
			c := &page[i]
			used := cmp.Or(c.Account, core.DefaultAccount)
			if _, of := recordedRequest(c); of == "" || c.FromServer || account != "" && used != account {
				continue
			}
			if first = cmp.Or(first, used); used != first {
				return nil, &core.Error{Code: core.CodeValidation, Message: fmt.Sprintf("the recorded calls used several accounts of the server, such as %q and %q", used, first),
					Hint: "Choose one with --account, or with \"from\": {\"account\": \"NAME\"} in the configuration."}
			}
			ids = append(ids, c.ID)
		}
		if next == 0 || len(ids) > 2*cassette.MaxCalls { // ReadRecording reports that there are too many
			slices.Reverse(ids)
			return ids, ctx.Err()
		}
		q.Before = next
	}
}

// recordedCall returns false for a call that cannot be served.
func recordedCall(r *store.Record) (c cassette.Call, ok bool) {
	if r.ArgumentsCut != nil || redacted(r.Arguments) || redacted([]byte(r.Name)) || len(r.Result)+len(r.Error) == 0 && r.ReplyCut == nil {
		return c, false
	}
	c = cassette.Call{TookMs: (r.Took - r.Queued).Milliseconds(), Arguments: string(r.Arguments)}
	switch r.Method {
	case "tools/call":
		c.Tool = r.Name
	case "prompts/get":
		c.Prompt = r.Name
	default:
		c.Resource, c.Arguments = r.Name, ""
	}
	switch {
	case r.ReplyCut != nil:
		c.Unavailable = cassette.Truncated
	case redacted(r.Result) || redacted(r.Error):
		c.Unavailable = cassette.Redacted
	default:
		c.Result, c.Error = string(r.Result), string(r.Error)
		for _, n := range r.ProgressLog {
			if !redacted(n.Params) {
				c.Progress = append(c.Progress, cassette.Progress{AfterMs: n.AfterMs, Params: string(n.Params)})
			}
		}
	}
	return c, true
}

func redacted(text []byte) bool { return strings.Contains(string(text), redact.Mark) }
