package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store/fulltext"
)

// Query selects calls. The zero Query selects the newest calls.
type Query struct {
	Before    int64        // only calls with a smaller id; 0: no bound
	From, To  time.Time    // only calls that started at or after From and before To; zero: no bound
	Server    string       // server id
	Client    string       // name of the application, or name of its token
	Tool      string       // name of a tool or prompt, or URI of a resource
	Outcome   core.Outcome // or outcomeUnavailable, outcomeFailed, or the state of a task that has not ended: TaskWorking, TaskInput or core.TaskExpired
	Session   string
	Workspace string // folder in which the client worked
	Account   string // of the server
	Tag       string
	Version   string        // version of the server, version of the package, or beginning of a definition's hash (8 characters)
	MinTook   time.Duration // 0: no bound; the same for MaxTook
	MaxTook   time.Duration
	// Text contains words that must all occur in the names, reason, arguments or reply of a call.
	// Case is ignored; word* matches words with this prefix.
	Text  string
	Limit int // maximum number of calls; 0: 100; values over 500 count as 500

	late *clockSetBackRange // set by the Store; now too
	now  time.Time
}

// bounds returns the exclusive bounds of the ids of the calls; 0 means no bound. If there are late
// calls, the bounds may include calls that started outside the time range.
func (q *Query) bounds() (after, before int64) {
	before = q.Before
	if !q.To.IsZero() {
		edge := q.To.UnixMicro()
		if q.late != nil {
			edge = max(edge, q.late.last+1)
		}
		if before == 0 || edge < before {
			before = edge
		}
	}
	if !q.From.IsZero() {
		after = q.From.UnixMicro() - 1
	}
	return after, before
}

// Check validates the query. It returns a *core.Error that names the invalid field, or nil.
func (q *Query) Check() error {
	if _, ok := outcomes[q.Outcome]; !ok && q.Outcome != "" && q.Outcome != outcomeUnavailable && q.Outcome != outcomeFailed && !isOpenTaskState(q.Outcome) {
		return invalid("outcome", "must be one of ok, tool_error, protocol_error, timeout, cancelled, rejected, unavailable, failed, working, input_required, expired")
	}
	if utf8.RuneCountInString(q.Text) > MaxText {
		return tooLong("q", MaxText)
	}
	if !q.From.IsZero() && !q.To.IsZero() && q.To.Before(q.From) {
		return invalid("to", "must not be before 'from'")
	}
	if q.MaxTook > 0 && q.MaxTook < q.MinTook {
		return invalid("maxTookNs", "must not be less than 'minTookNs'")
	}
	return nil
}

// fromRollups reports whether the query filters only by time, server, tool, client and outcome, so
// that rollups can answer it.
func (q *Query) fromRollups() bool {
	return q.Text == "" && q.Session == "" && q.Workspace == "" && q.Account == "" && q.Tag == "" && q.Version == "" && q.MinTook == 0 && q.MaxTook == 0
}

// tooLong returns a validation error for a field with more than most characters.
func tooLong(field string, most int) *core.Error {
	return &core.Error{Code: core.CodeValidation, Message: "the request is not valid",
		Fields: []core.FieldError{{Field: field, Error: fmt.Sprintf("must be at most %d characters long", most)}}}
}

func invalid(field, what string) *core.Error {
	return &core.Error{Code: core.CodeValidation, Message: "the request is not valid", Fields: []core.FieldError{{Field: field, Error: what}}}
}

// ClientUse summarizes the calls of one client.
type ClientUse struct {
	Client   core.Client
	Calls    int64
	LastSeen time.Time
}

// Clients returns the clients that have calls in the history, the most recently seen first, at
// most 500.
func (s *calls) Clients(ctx context.Context) (list []ClientUse, err error) {
	s.waitForRecent(ctx)
	err = s.queryRows(ctx, func(row scanner) error {
		var u ClientUse
		var last int64
		err := row.Scan(&u.Client.Token, &u.Client.Name, &u.Client.Version, &u.Calls, &last)
		if u.LastSeen = time.UnixMicro(last).UTC(); u.Calls > 0 {
			list = append(list, u)
		}
		return err
	}, `SELECT k.token, k.name, k.version,
		(SELECT count(*) FROM call c WHERE c.client_id = k.id) - (SELECT count(*) FROM call c WHERE c.client_id = k.id AND c.task_call_id IS NOT NULL), coalesce((SELECT max(id) FROM call c WHERE c.client_id = k.id), 0) AS last
		FROM client k ORDER BY last DESC LIMIT 500`)
	return list, err
}

// Facets contains the values by which the calls of a query can be filtered, each with its number
// of calls. The counts of one kind of value ignore the query's filter on that kind and apply all
// others.
type Facets struct {
	Total    int64   `json:"total"`
	Servers  []Facet `json:"servers" nullable:"false"`
	Tools    []Facet `json:"tools" nullable:"false"`
	Clients  []Facet `json:"clients" nullable:"false"`
	Outcomes []Facet `json:"outcomes" nullable:"false"`
	Errors   []Facet `json:"errors" nullable:"false" doc:"The most frequent errors of the newest 1000 failed calls, each as its most informative line; those that differ only in words with digits, except HTTP status codes, are one; none for a search"`
	// Without NewestCounted, the counts are computed from rollups.
	NewestCounted int `json:"newest,omitempty" doc:"If set, only this many of the newest calls were counted; otherwise counts are per full hour, or per full minute within the last 48 h"`
}

// Facet is one value and its number of calls.
type Facet struct {
	Value  string `json:"value"`
	Server string `json:"server,omitempty" doc:"Server of a tool"`
	Calls  int64  `json:"calls"`
	Search string `json:"search,omitempty" doc:"Text whose search finds the calls of an error, if their messages differ in numbers or ids: the value is the newest one"`
}

// maxFacets is the maximum number of values of one kind that are returned; values with more calls
// come first.
const maxFacets = 200

// tally accumulates the counts of all facets.
type tally struct {
	q        Query
	names    names
	total    int64
	servers  map[string]int64
	tools    map[target]int64
	clients  map[string]int64
	outcomes map[core.Outcome]int64
}

func (t *tally) add(targetID, clientID int64, outcome core.Outcome, n int64) {
	what, who := t.names.targets[targetID], t.names.clients[clientID]
	server := t.q.Server == "" || what.server == t.q.Server
	tool := t.q.Tool == "" || what.tool == t.q.Tool
	client := t.q.Client == "" || who.Name == t.q.Client || who.Token == t.q.Client
	ended := t.q.Outcome == "" || outcome == t.q.Outcome || t.q.Outcome == outcomeFailed && isFailure(outcome)
	if tool && client && ended {
		t.servers[what.server] += n
	}
	if server && client && ended && what.tool != "" {
		t.tools[target{server: what.server, tool: what.tool}] += n
	}
	if server && tool && ended {
		t.clients[who.Name] += n
	}
	if server && tool && client {
		t.outcomes[outcome] += n
	}
	if server && tool && client && ended {
		t.total += n
	}
}

// Facets returns the counts for a query. It ignores Query.Before and Query.Limit.
func (s *calls) Facets(ctx context.Context, q Query) (*Facets, error) {
	q.Before = 0
	if err := q.Check(); err != nil {
		return nil, err
	}
	s.waitForRecent(ctx)
	q.late, q.now = s.lateCalls.Load(), s.opts.Now()
	if q.Text != "" {
		s.search.indexPending(ctx)
	}
	t := &tally{q: q, servers: map[string]int64{}, tools: map[target]int64{}, clients: map[string]int64{}, outcomes: map[core.Outcome]int64{}}
	out := &Facets{Servers: []Facet{}, Tools: []Facet{}, Clients: []Facet{}, Outcomes: []Facet{}, Errors: []Facet{}}
	err := s.query(ctx, func(ctx context.Context, h *handle) (err error) {
		if t.names, err = loadNames(ctx, h.read); err != nil {
			return err
		}
		if out.Errors, err = equalErrors(ctx, h.read, q); err != nil {
			return err
		}
		if q.fromRollups() {
			return t.countFromRollups(ctx, h.read, s.opts.Now())
		}
		out.NewestCounted, err = t.countFromCalls(ctx, h.read)
		return err
	})
	if err != nil {
		return nil, err
	}
	out.Total = t.total
	for name, n := range t.servers {
		out.Servers = append(out.Servers, Facet{Value: name, Calls: n})
	}
	for what, n := range t.tools {
		out.Tools = append(out.Tools, Facet{Value: what.tool, Server: what.server, Calls: n})
	}
	for name, n := range t.clients {
		out.Clients = append(out.Clients, Facet{Value: name, Calls: n})
	}
	for name, n := range t.outcomes {
		out.Outcomes = append(out.Outcomes, Facet{Value: string(name), Calls: n})
	}
	for _, list := range []*[]Facet{&out.Servers, &out.Tools, &out.Clients, &out.Outcomes} {
		*list = slices.DeleteFunc(*list, func(f Facet) bool { return f.Calls <= 0 })
		slices.SortFunc(*list, func(x, y Facet) int {
			return cmp.Or(-cmp.Compare(x.Calls, y.Calls), cmp.Compare(x.Server, y.Server), cmp.Compare(x.Value, y.Value))
		})
		*list = (*list)[:min(len(*list), maxFacets)]
	}
	return out, nil
}

// maxErrors bounds the errors of Facets, and countedErrors the calls that they are counted from.
const maxErrors, countedErrors = 8, 1000

// equalErrors counts the newest failed calls of a query by the kind of their error.
func equalErrors(ctx context.Context, db *sql.DB, q Query) ([]Facet, error) {
	switch list := []Facet{}; {
	case q.Text != "" || q.Outcome != "" && !isFailure(q.Outcome) && q.Outcome != outcomeFailed:
		return list, nil
	case q.Outcome == "":
		q.Outcome = outcomeFailed
	}
	where, args, by, err := conditions(ctx, db, q)
	if err != nil || where == nil {
		return []Facet{}, err
	}
	where, args = by.newest(where, args, countedErrors)
	kinds := map[string]*Facet{}
	err = eachRow(ctx, db, func(row scanner) error {
		var reason string
		err := row.Scan(&reason)
		line := errorLine(reason)
		kind, search := errorKind(line)
		switch known := kinds[kind]; {
		case line == "":
		case known == nil:
			kinds[kind] = &Facet{Value: line, Calls: 1}
		default:
			known.Calls++
			if known.Value != line {
				known.Search = search
			}
		}
		return err
	}, `SELECT b.reason FROM call c JOIN body b ON b.id = c.id WHERE `+strings.Join(where, ` AND `)+` ORDER BY c.id DESC LIMIT ?`, append(args, countedErrors)...)
	list := make([]Facet, 0, len(kinds))
	for _, one := range kinds {
		list = append(list, *one)
	}
	slices.SortFunc(list, func(x, y Facet) int { return cmp.Or(-cmp.Compare(x.Calls, y.Calls), cmp.Compare(x.Value, y.Value)) })
	return list[:min(len(list), maxErrors)], err
}

// errorLine returns the line of a reason that tells most: the last one of a Python traceback, otherwise
// the first one, at most 200 bytes of it.
func errorLine(reason string) string {
	lines := strings.Split(strings.TrimSpace(reason), "\n")
	line := lines[0]
	if strings.HasPrefix(line, "Traceback (most recent call last)") {
		line = lines[len(lines)-1]
	}
	line = strings.Join(strings.Fields(line), " ")
	return strings.ToValidUTF8(line[:min(200, len(line))], "")
}

// errorKind returns what errors that differ only in numbers and ids have in common, and the words of it
// for a search. Words with a digit are ids, except HTTP status codes; a line of nothing else is its own kind.
func errorKind(line string) (kind, search string) {
	words := strings.Fields(line)
	var common []string
	for i, word := range words {
		status, _ := strconv.Atoi(strings.Trim(word, `.,:;()[]'"`))
		if strings.ContainsAny(word, "0123456789") && (status < 400 || status > 599) {
			words[i] = "0"
		} else {
			common = append(common, word)
		}
	}
	if search = strings.Join(common, " "); search == "" {
		return line, ""
	}
	return strings.Join(words, " "), search
}

func (t *tally) countFromRollups(ctx context.Context, db queryer, now time.Time) error {
	from, to := t.q.From, t.q.To
	var oldest int64 // rollups are kept longer than calls
	if err := db.QueryRowContext(ctx, `SELECT coalesce(min(id), 0) FROM call`).Scan(&oldest); err != nil {
		return err
	}
	if first := time.UnixMicro(oldest); from.Before(first) {
		from = first
	}
	if to.IsZero() {
		to = now
	}
	if err := t.countOpenTasks(ctx, db, from, to); err != nil {
		return err
	}
	return eachCount(ctx, db, spanRanges(from, to, now), func(target, client int64, outcomes [numOutcomes]int64) {
		for i, n := range outcomes {
			if n > 0 {
				t.add(target, client, outcomeNames[i+1], n)
			}
		}
	})
}

// MaxFacetCalls is the number of the newest calls from which Facets counts if rollups cannot answer
// the query.
const MaxFacetCalls = 10000

// countFromCalls counts the newest calls one by one. It returns the number of calls examined,
// MaxFacetCalls if there may be more.
func (t *tally) countFromCalls(ctx context.Context, db *sql.DB) (int, error) {
	q := t.q
	q.Server, q.Tool, q.Client, q.Outcome = "", "", "", ""
	where, args, by, err := conditions(ctx, db, q)
	if err != nil || where == nil {
		return 0, err
	}
	where, args = by.add("", where, args)
	if q.Text == "" {
		from, err := by.newestFrom(ctx, db, q, MaxFacetCalls)
		if err != nil {
			return 0, err
		}
		if from > 0 {
			where, args = append(where, `c.id > ?`), append(args, from)
		}
		n, err := t.countRows(ctx, db, `call c`, where, ` ORDER BY c.id DESC LIMIT ?`, append(args, MaxFacetCalls)...)
		if from > 0 {
			n = MaxFacetCalls // there are more
		}
		return n, err
	}
	words := fulltext.MatchExpression(q.Text)
	if words == "" {
		return 0, nil
	}
	after, before := q.bounds()
	if before == 0 {
		before = 1 << 62
	}
	const hits = `(SELECT rowid AS id FROM search WHERE search MATCH ? AND rowid < ? AND rowid > ? ORDER BY rowid DESC LIMIT ?) f`
	bound := []any{words, before, after, MaxFacetCalls}
	n, err := t.countRows(ctx, db, hits+` CROSS JOIN call c ON c.id = f.id`, where, ``, slices.Concat(bound, args)...)
	if err == nil && len(where) > 0 && n < MaxFacetCalls { // the filters rejected some hits
		err = db.QueryRowContext(ctx, `SELECT count(*) FROM `+hits, bound...).Scan(&n)
	}
	return n, err
}

// countRows counts the calls selected from source that match the conditions in where, and returns
// their number.
func (t *tally) countRows(ctx context.Context, db queryer, source string, where []string, rest string, args ...any) (n int, err error) {
	stmt := `SELECT c.target_id, c.client_id, c.outcome, c.code, iif(c.outcome = 1, coalesce((SELECT ` + openTaskState + ` FROM task o WHERE o.call_id = c.id AND o.ended = 0), ''), '') FROM ` + source
	if len(where) > 0 {
		stmt += ` WHERE ` + strings.Join(where, ` AND `)
	}
	err = eachRow(ctx, db, func(row scanner) error {
		var target, client int64
		var outcome int
		var code core.Code
		var open core.Outcome
		err := row.Scan(&target, &client, &outcome, &code, &open)
		n++
		t.add(target, client, cmp.Or(open, outcomeNames[countedOutcome(outcome, code)]), 1)
		return err
	}, stmt+rest, append([]any{t.q.now.UnixMicro()}, args...)...)
	return n, err
}

// ClientTool is a tool that a client called, and on how many days.
type ClientTool struct {
	Token, Server, Name string
	Days                int64
}

// maxClientTools bounds ClientTools.
const maxClientTools = 20_000

// ClientTools returns the tools that clients with a token called on at least days days since a time, at
// most maxClientTools.
func (s *calls) ClientTools(ctx context.Context, since time.Time, days int) (list []ClientTool, err error) {
	s.waitForRecent(ctx)
	err = s.query(ctx, func(ctx context.Context, h *handle) error {
		return eachRow(ctx, h.read, func(row scanner) error {
			var t ClientTool
			err := row.Scan(&t.Token, &t.Server, &t.Name, &t.Days)
			list = append(list, t)
			return err
		}, `SELECT c.token, coalesce(s.current_name, s.name), t.name, count(DISTINCT r.at) AS days
			FROM rollup r JOIN target t ON t.id = r.target_id JOIN server s ON s.id = t.server_id JOIN client c ON c.id = r.client_id
			WHERE r.span = ? AND r.at >= ? AND t.method = 'tools/call' AND c.token <> ''
			GROUP BY 1, 2, 3 HAVING days >= ? LIMIT ?`, day, since.Unix(), days, maxClientTools)
	})
	return list, err
}

// SessionTool is a tool with its calls in one session.
type SessionTool struct {
	Session      string
	Client       core.Client
	First        time.Time // call of the tool in the session
	Server, Name string
	Calls        int64
	ResultBytes  int64
}

// SessionTools returns the tools that were called in the newest sessions, those of a session one after
// the other, the newest session first. The tool list and searches of Drawbridge itself are left out.
func (s *calls) SessionTools(ctx context.Context, since time.Time, sessions int) (list []SessionTool, err error) {
	s.waitForRecent(ctx)
	err = s.queryRows(ctx, func(row scanner) error {
		var t SessionTool
		var first int64
		err := row.Scan(&t.Session, &t.Client.Token, &t.Client.Name, &first, &t.Server, &t.Name, &t.Calls, &t.ResultBytes)
		t.First = time.UnixMicro(first).UTC()
		list = append(list, t)
		return err
	}, `SELECT e.name, k.token, k.name, a.first, coalesce(s.current_name, s.name), t.name, a.calls, a.bytes
		FROM (SELECT session_id, target_id, max(client_id) client_id, min(at) first, count(*) calls, sum(bytes_out) bytes FROM call
			WHERE session_id IN (SELECT id FROM session e WHERE EXISTS (SELECT 1 FROM call WHERE session_id = e.id AND id >= ?) ORDER BY id DESC LIMIT ?)
				AND id >= ? AND from_server = 0 AND task_call_id IS NULL
			GROUP BY session_id, target_id) a
		JOIN session e ON e.id = a.session_id JOIN target t ON t.id = a.target_id JOIN server s ON s.id = t.server_id JOIN client k ON k.id = a.client_id
		WHERE t.method = 'tools/call' AND s.name <> 'drawbridge'
		ORDER BY e.id DESC, a.target_id`, since.UnixMicro(), sessions, since.UnixMicro())
	return list, err
}

// SessionSummary summarizes the calls of one session.
type SessionSummary struct {
	Session       string
	Client        core.Client
	Workspace     string
	First, Last   time.Time
	Calls, Errors int64
	Servers       []string // that it called, in alphabetical order
}

// Sessions returns sessions, the most recently started first. before and next are cursors: next is
// the value of before for the next page, or 0 if there is none.
func (s *calls) Sessions(ctx context.Context, before int64, limit int) (sessions []SessionSummary, next int64, err error) {
	if limit <= 0 || limit > MaxLimit {
		limit = defaultLimit
	}
	if before <= 0 {
		before = 1 << 62
	}
	// A session may remain for a while after its calls were deleted.
	const withCalls = `SELECT id FROM session s WHERE id < ? AND EXISTS (SELECT 1 FROM call WHERE session_id = s.id) ORDER BY id DESC LIMIT ?`
	s.waitForRecent(ctx)
	last := int64(0)
	err = s.queryRows(ctx, func(row scanner) error {
		var st SessionSummary
		var id, first, latest int64
		var servers []byte
		if err := row.Scan(&id, &st.Session, &st.Calls, &st.Errors, &first, &latest, &st.Client.Token, &st.Client.Name, &st.Client.Version, &st.Workspace, &servers); err != nil {
			return err
		}
		if err := json.Unmarshal(servers, &st.Servers); err != nil {
			return err
		}
		slices.Sort(st.Servers)
		if len(sessions) == limit {
			next = last
			return errEnough
		}
		last = id
		st.First, st.Last = time.UnixMicro(first).UTC(), time.UnixMicro(latest).UTC()
		sessions = append(sessions, st)
		return nil
	}, `SELECT e.id, e.name, a.calls, a.failed, a.first, a.last, k.token, k.name, k.version, coalesce(w.name, ''),
			(SELECT json_group_array(DISTINCT coalesce(current_name, name)) FROM server WHERE name <> '' AND id IN (SELECT value FROM json_each('[' || a.servers || ']')))
		FROM (`+withCalls+`) p
		JOIN session e ON e.id = p.id
		JOIN (SELECT session_id, count(*) calls, sum(outcome IN (2, 3, 4)) failed, min(at) first, max(at) last, max(id) newest, group_concat(DISTINCT server_id) servers FROM call
			WHERE session_id IN (`+withCalls+`) AND task_call_id IS NULL GROUP BY session_id) a ON a.session_id = e.id
		JOIN call c ON c.id = a.newest
		JOIN client k ON k.id = c.client_id
		LEFT JOIN workspace w ON w.id = c.workspace_id
		ORDER BY e.id DESC`, before, limit+1, before, limit+1)
	return sessions, next, err
}
