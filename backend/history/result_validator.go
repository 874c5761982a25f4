package history

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/schema"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// Limits of result validation.
const (
	maxResult        = 256 << 10 // bytes; larger results are not validated
	maxQueuedResults = 64        // queued results; further ones are not validated
	saveTimeout      = 10 * time.Second
)

// Recorder records finished calls. *store.Recorder implements it.
type Recorder interface {
	Record(call *core.Call, reply core.Reply)
}

// SchemaMismatchStore stores verdicts. *store.Store implements it.
type SchemaMismatchStore interface {
	SaveVerdict(ctx context.Context, id int64, v core.SchemaMismatch) error
}

// ResultValidator is a Recorder that passes calls on to another one and validates their results
// against the outputSchema of their tools. Calls do not wait for validation: Record copies a
// result that has a schema, and Run validates it later. An invalid result is marked in the
// history; the client has received it unchanged.
type ResultValidator struct {
	next     Recorder
	verdicts SchemaMismatchStore
	log      *slog.Logger
	levels   atomic.Pointer[map[string]string]            // by server; servers without a level are not validated
	schemas  atomic.Pointer[map[string]map[string]string] // by server and the server's name of the tool
	queue    chan queuedResult
	skipped  atomic.Uint64

	schemaCache map[string]*schema.Schema // by schema text; accessed only by Run
}

type queuedResult struct {
	call   int64
	level  string
	schema string
	result []byte
}

// NewResultValidator returns a ResultValidator that validates nothing until SetLevels and
// SetSchemas are called. log may be nil.
func NewResultValidator(next Recorder, verdicts SchemaMismatchStore, log *slog.Logger) *ResultValidator {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	j := &ResultValidator{next: next, verdicts: verdicts, log: log, queue: make(chan queuedResult, maxQueuedResults), schemaCache: make(map[string]*schema.Schema)}
	j.SetLevels(nil)
	j.SetSchemas(nil)
	return j
}

// SetLevels sets the level with which invalid results of each server are marked, "warn" or
// "error". Servers that are not in the map are not validated. The map must not be modified
// afterwards.
func (j *ResultValidator) SetLevels(byServer map[string]string) { j.levels.Store(&byServer) }

// SetSchemas sets the output schemas, as JSON text, by server and the server's name of the tool.
// The maps must not be modified afterwards.
func (j *ResultValidator) SetSchemas(byServer map[string]map[string]string) {
	j.schemas.Store(&byServer)
}

// Skipped returns the number of results that were not validated because the queue was full.
func (j *ResultValidator) Skipped() uint64 { return j.skipped.Load() }

// Record implements gateway.Recorder.
func (j *ResultValidator) Record(call *core.Call, reply core.Reply) {
	j.next.Record(call, reply)
	id, result := call.ID, reply.Result
	switch {
	case call.Outcome != core.OutcomeOK || len(result) > maxResult, call.Task == nil && call.Method != "tools/call":
		return
	case call.Task != nil: // a task is not the result of its tool
		if !call.Task.HasResult {
			return
		}
		id, result = call.Task.Call, wire.TaskResult(call.Method, reply).Result
	}
	level := (*j.levels.Load())[call.Server]
	if level == "" {
		return
	}
	schema := (*j.schemas.Load())[call.Server][call.Name]
	if schema == "" {
		return
	}
	if len(j.queue) == cap(j.queue) { // before the copy
		j.skipped.Add(1)
		return
	}
	select {
	case j.queue <- queuedResult{id, level, schema, bytes.Clone(result)}:
	default:
		j.skipped.Add(1)
	}
}

// Run validates queued results until ctx is done. It always returns nil.
func (j *ResultValidator) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case one := <-j.queue:
			problem := j.validate(one.schema, one.result)
			if problem == "" {
				continue
			}
			limit, cancel := context.WithTimeout(ctx, saveTimeout)
			if err := j.verdicts.SaveVerdict(limit, one.call, core.SchemaMismatch{Level: one.level, Problem: problem}); err != nil {
				j.log.Debug("Cannot save the validation error of a result", "error", err)
			}
			cancel()
		}
	}
}

// maxCachedSchemas is the maximum number of cached schemas.
const maxCachedSchemas = 2000

// validate returns why a result is not valid, or "" if it is valid or the schema is not supported.
func (j *ResultValidator) validate(text string, result []byte) string {
	output, known := j.schemaCache[text]
	if !known {
		if len(j.schemaCache) == maxCachedSchemas {
			clear(j.schemaCache)
		}
		output = schema.Compile([]byte(text))
		j.schemaCache[text] = output
	}
	if output == nil {
		return ""
	}
	var r struct {
		StructuredContent json.RawMessage `json:"structuredContent"`
	}
	if json.Unmarshal(result, &r) != nil {
		return ""
	}
	if len(r.StructuredContent) == 0 || string(r.StructuredContent) == "null" {
		return "the tool has an outputSchema, but its result has no structuredContent"
	}
	content, err := wire.Decode(r.StructuredContent)
	if err != nil {
		return ""
	}
	wrong := output.Check(content)
	if len(wrong) == 0 {
		return ""
	}
	parts := make([]string, len(wrong))
	for i, one := range wrong {
		parts[i] = strings.TrimSpace(one.Field + " " + one.Error)
	}
	return "structuredContent does not match the outputSchema: " + strings.Join(parts, "; ")
}
