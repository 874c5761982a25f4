package api

import (
	"context"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/store"

	"github.com/danielgtaylor/huma/v2"
)

// HistoryStore maintains the history; *store.Store implements it.
type HistoryStore interface {
	history.RecordingSource
	Facets(ctx context.Context, q store.Query) (*store.Facets, error)
	Usage(ctx context.Context, q store.UsageQuery) (*store.Usage, error)
	FolderTargets(ctx context.Context, since time.Time) ([]store.FolderTarget, error)
	Sessions(ctx context.Context, before int64, limit int) (stories []store.SessionSummary, next int64, err error)
	SaveNote(ctx context.Context, id int64, n store.Note) error
	ChangeNote(ctx context.Context, id int64, was, n store.Note) error
	Erase(ctx context.Context, sel store.Selection) (deleted int64, err error)
	Index(ctx context.Context) (store.IndexState, error)
	Size(ctx context.Context) (store.Size, error)
	HeldCalls() *store.HeldCalls
	Prune(ctx context.Context, k store.RetentionLimits) (deleted int64, err error)
	RetentionPreview(ctx context.Context, k store.RetentionLimits) (store.RetentionPreview, error)
	Vacuum(ctx context.Context) error
	Backup(ctx context.Context, path string) error
	RenameServer(ctx context.Context, from, to string) (back func(context.Context) error, err error)
	Recording() store.RecordingSettings
	SaveRecording(ctx context.Context, want store.RecordingSettings) error
	SavedCheck(ctx context.Context, name string) ([]byte, error)
	SavedChecks(ctx context.Context) (documents [][]byte, err error)
	SaveCheck(ctx context.Context, name string, document []byte) error
	DeleteCheck(ctx context.Context, name string) error
}

func (a *API) registerHistory(doc huma.API) {
	op(a, doc, "GET", "/api/v1/previews", "Previews of call arguments, with search matches in the payloads", a.previews)
	op(a, doc, "GET", "/api/v1/facets", "Number of calls by server, tool, client and outcome", a.facets)
	op(a, doc, "GET", "/api/v1/sessions", "Sessions, newest first", a.listSessions)
	op(a, doc, "GET", "/api/v1/usage", "Call statistics by server, tool and client, and over time", a.usage)
	op(a, doc, "PUT", "/api/v1/calls/{id}/note", "Set the title, note and tags of a call", a.putNote)
	op(a, doc, "POST", "/api/v1/calls/{id}/replay", "Repeat a tool call, optionally with other arguments", a.replay)
	op(a, doc, "POST", "/api/v1/calls/delete", "Delete individual calls, or all calls of a client or session", a.deleteCalls)
	op(a, doc, "GET", "/api/v1/history", "State and size of the history", a.historyState)
	op(a, doc, "PUT", "/api/v1/history/recording", "Pause recording, or change the recording rules for servers and tools", a.putRecording)
	op(a, doc, "POST", "/api/v1/history/prune", "Delete the oldest calls that exceed the given limits", a.prune)
	op(a, doc, "POST", "/api/v1/history/retention-preview", "Number of calls that the given limits would delete", a.previewPrune)
	op(a, doc, "POST", "/api/v1/history/vacuum", "Compact the database", a.vacuum)
	op(a, doc, "POST", "/api/v1/history/backup", "Back up the history to a new file", a.backup)
	op(a, doc, "GET", "/api/v1/checks", "Saved checks", a.listChecks)
	op(a, doc, "PUT", "/api/v1/checks/{name}", "Save a check; replaces an existing check with the same name", a.putCheck)
	op(a, doc, "POST", "/api/v1/checks/{name}", "Save the tool calls of a session, a tag or a time range as a new check", a.saveCheckFromCalls)
	op(a, doc, "DELETE", "/api/v1/checks/{name}", "Delete a check", a.deleteCheck)
	op(a, doc, "POST", "/api/v1/checks/{name}/run", "Run a check", a.runCheck)
	op(a, doc, "GET", "/api/v1/frames", "Recent JSON-RPC messages of a session or server in debug mode, newest first", a.frames)
	a.registerExport(doc)
}

// CallFilter holds the filters of all operations on calls.
type CallFilter struct {
	From      time.Time `query:"from" doc:"Only calls that started at or after this time"`
	To        time.Time `query:"to" doc:"Only calls that started before this time"`
	Server    string    `query:"server" maxLength:"256" server:"name" doc:"Server id or name"`
	Client    string    `query:"client" maxLength:"1000" doc:"Name of the application or of its token"`
	Tool      string    `query:"tool" maxLength:"1000"`
	Session   string    `query:"session" maxLength:"200"`
	Workspace string    `query:"workspace" maxLength:"1000" doc:"Working directory of the client"`
	Account   string    `query:"account" maxLength:"32" doc:"Account of the server"`
	Tag       string    `query:"tag" maxLength:"50"`
	Version   string    `query:"version" maxLength:"200" doc:"Version that the server reports, version of its package, package@version, or the first 8 or more characters of the hash of a definition"`
	Outcome   string    `query:"outcome" enum:"ok,tool_error,protocol_error,timeout,cancelled,rejected,working,input_required,expired" doc:"The last three are states of tasks that have not ended"`
	MinTookNs int64     `query:"minTookNs" minimum:"0"`
	MaxTookNs int64     `query:"maxTookNs" minimum:"0"`
	Text      string    `query:"q" maxLength:"1000" doc:"Words that must all occur in names, arguments, results or errors; word* matches a prefix"`
}

func (f *CallFilter) query() store.Query {
	return store.Query{
		From: f.From, To: f.To, Server: f.Server, Client: f.Client, Tool: f.Tool, Session: f.Session, Workspace: f.Workspace, Account: f.Account, Tag: f.Tag, Version: f.Version,
		Outcome: core.Outcome(f.Outcome), MinTook: time.Duration(f.MinTookNs), MaxTook: time.Duration(f.MaxTookNs), Text: f.Text,
	}
}

func (a *API) facets(ctx context.Context, in *CallFilter) (*answer[store.Facets], error) {
	f, err := a.HistoryStore.Facets(ctx, in.query())
	if err != nil {
		return nil, err
	}
	return reply(*f)
}

// Session is the timeline of one session of a client.
type Session struct {
	Session       string    `json:"session" doc:"Use it as a filter of GET /api/v1/calls to get the calls in order"`
	Client        string    `json:"client"`
	ClientVersion string    `json:"clientVersion"`
	Token         string    `json:"token"`
	Workspace     string    `json:"workspace"`
	First         time.Time `json:"first"`
	Last          time.Time `json:"last"`
	Calls         int64     `json:"calls"`
	Errors        int64     `json:"errors"`
	Servers       []string  `json:"servers" nullable:"false" doc:"Ids of the servers that were called"`
}

func (a *API) listSessions(ctx context.Context, in *PageInput) (*answer[List[Session]], error) {
	before := parseID(in.Before)
	stories, next, err := a.HistoryStore.Sessions(ctx, before, in.Limit)
	if err != nil {
		return nil, err
	}
	list := List[Session]{Items: make([]Session, len(stories))}
	for i, s := range stories {
		list.Items[i] = Session{s.Session, s.Client.Name, s.Client.Version, s.Client.Token, s.Workspace, s.First, s.Last, s.Calls, s.Errors, nonNil(s.Servers)}
	}
	list.Next = nextPage(next)
	return reply(list)
}
