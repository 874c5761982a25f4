package history

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/google/jsonschema-go/jsonschema"
)

// Bounds of what is checked.
const (
	maxResult   = 256 << 10 // bytes; longer results are not checked
	maxUnjudged = 64        // results that wait; more are not checked
	judgeLimit  = 10 * time.Second
)

// Recorder keeps finished calls; *store.Recorder implements it.
type Recorder interface {
	Record(call *core.Call, reply core.Reply)
}

// Verdicts keeps what was found; *store.Store implements it.
type Verdicts interface {
	SaveVerdict(ctx context.Context, id int64, v core.Verdict) error
}

// Judge stands before a Recorder and checks results against the outputSchema of their
// tools. Calls never wait for it: it copies a result that has a schema, and looks at it
// later. What does not fit is marked in the history; the client has had the result as
// it is.
type Judge struct {
	next     Recorder
	verdicts Verdicts
	log      *slog.Logger
	levels   atomic.Pointer[map[string]string]            // by server; absent: not checked
	schemas  atomic.Pointer[map[string]map[string]string] // by server and its name for the tool
	queue    chan unjudged
	skipped  atomic.Uint64

	read map[string]*jsonschema.Resolved // by schema; Run owns it
}

type unjudged struct {
	call   int64
	level  string
	schema string
	result []byte
}

// NewJudge makes a Judge that checks nothing before SetLevels and SetSchemas.
func NewJudge(next Recorder, verdicts Verdicts, log *slog.Logger) *Judge {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	j := &Judge{next: next, verdicts: verdicts, log: log, queue: make(chan unjudged, maxUnjudged), read: make(map[string]*jsonschema.Resolved)}
	j.SetLevels(nil)
	j.SetSchemas(nil)
	return j
}

// SetLevels says for each server how a result is marked, "warn" or "error"; a server
// that is absent is not checked.
func (j *Judge) SetLevels(byServer map[string]string) { j.levels.Store(&byServer) }

// SetSchemas replaces the schemas, JSON text, of all tools that have one: by server, and by
// the server's name for the tool. Nobody may change the maps afterwards.
func (j *Judge) SetSchemas(byServer map[string]map[string]string) { j.schemas.Store(&byServer) }

// Skipped is how many results were not checked because too many waited.
func (j *Judge) Skipped() uint64 { return j.skipped.Load() }

// Record implements the gateway's Recorder.
func (j *Judge) Record(call *core.Call, reply core.Reply) {
	j.next.Record(call, reply)
	if call.Outcome != core.OutcomeOK || call.Method != "tools/call" || len(reply.Result) > maxResult {
		return
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
	case j.queue <- unjudged{call.ID, level, schema, bytes.Clone(reply.Result)}:
	default:
		j.skipped.Add(1)
	}
}

// Run checks what was recorded until ctx ends.
func (j *Judge) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case one := <-j.queue:
			problem := j.problem(one.schema, one.result)
			if problem == "" {
				continue
			}
			limit, cancel := context.WithTimeout(ctx, judgeLimit)
			if err := j.verdicts.SaveVerdict(limit, one.call, core.Verdict{Level: one.level, Problem: problem}); err != nil {
				j.log.Debug("Cannot keep what is wrong with a result", "error", err)
			}
			cancel()
		}
	}
}

// maxRead is how many schemas are kept ready.
const maxRead = 2000

// problem says what of a result does not fit; "" when all does, or when the schema is
// one that is not checked.
func (j *Judge) problem(schema string, result []byte) (wrong string) {
	defer func() {
		if recover() != nil { // a stranger's schema has found what the library does not expect
			j.read[schema], wrong = nil, ""
		}
	}()
	resolved, known := j.read[schema]
	if !known {
		if len(j.read) == maxRead {
			clear(j.read)
		}
		resolved = readSchema(schema)
		j.read[schema] = resolved
	}
	if resolved == nil {
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
	if err := resolved.Validate(content); err != nil {
		return "structuredContent does not fit the outputSchema: " + err.Error()
	}
	return ""
}

// readSchema returns nil for a schema that cannot be checked safely or at all.
func readSchema(text string) *jsonschema.Resolved {
	tree, err := wire.Decode([]byte(text))
	if err != nil || !bounded(tree) || wire.HasInexactNumber(tree) {
		return nil
	}
	var s jsonschema.Schema
	if json.Unmarshal([]byte(text), &s) != nil {
		return nil
	}
	resolved, err := s.Resolve(nil) // without a loader nothing is fetched
	if err != nil {
		return nil
	}
	return resolved
}
