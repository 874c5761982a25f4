package policy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// Calls reads recorded calls; *store.Store implements it.
type Calls interface {
	Calls(ctx context.Context, q store.Query) (calls []core.Call, next int64, err error)
	Call(ctx context.Context, id int64) (*store.Record, error)
}

// RuleSuggestion contains conditions for a rule about calls like one call.
type RuleSuggestion struct {
	Server  string   `json:"server"`
	Tool    string   `json:"tool" doc:"The server's own name"`
	Similar int      `json:"similar" doc:"Recorded calls to the tool whose arguments were compared"`
	Where   []string `json:"where" nullable:"false" doc:"Conditions, each the JSON text of an object, as in 'where' of a rule; all match the call"`
}

// Limits of a suggestion.
const (
	maxSimilarCalls = 200
	maxSuggestions  = 8
	maxEnumValue    = 64 // bytes
	minSimilar      = 3  // calls that show whether a text is one of few
)

// argumentValues are the values at one JSON pointer: those of the call, and those of similar calls.
type argumentValues struct{ own, others []any }

// SuggestRule derives conditions from a call and from the recorded calls to the same tool since from. bases
// are the folders against which the server may resolve relative paths.
func SuggestRule(ctx context.Context, calls Calls, like *core.Call, from time.Time, bases []string) (*RuleSuggestion, error) {
	out := &RuleSuggestion{Server: like.Server, Tool: like.Name, Where: []string{}}
	values := map[string]*argumentValues{}
	own := like.Params[like.Arguments.Start:like.Arguments.End]
	for pointer, list := range scalarsOf(own) {
		values[pointer] = &argumentValues{own: list}
	}
	if len(values) == 0 {
		return out, nil
	}
	page, _, err := calls.Calls(ctx, store.Query{From: from, Server: like.Server, Tool: like.Name, Limit: maxSimilarCalls})
	if err != nil {
		return nil, err
	}
	for i := range page {
		c := &page[i]
		if c.ID == like.ID || c.Server != like.Server || c.Name != like.Name || c.Method != "tools/call" {
			continue
		}
		r, err := calls.Call(ctx, c.ID)
		if core.CodeOf(err) == core.CodeNotFound {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		if r.ArgumentsCut != nil || len(r.Arguments) == 0 {
			continue
		}
		out.Similar++
		for pointer, list := range scalarsOf(r.Arguments) {
			if v := values[pointer]; v != nil {
				v.others = append(v.others, list...)
			}
		}
	}
	type ranked struct {
		where string
		rank  int
	}
	var found []ranked
	for _, pointer := range slices.Sorted(maps.Keys(values)) {
		if test, rank := values[pointer].test(pointer, like.Workspace, bases); test != nil {
			where, _ := json.Marshal(map[string]any{pointer: test}) // strings and numbers: cannot fail
			found = append(found, ranked{string(where), rank})
		}
	}
	slices.SortStableFunc(found, func(a, b ranked) int { return cmp.Compare(a.rank, b.rank) })
	for _, f := range found[:min(len(found), maxSuggestions)] {
		out.Where = append(out.Where, f.where)
	}
	return out, nil
}

// scalarsOf returns the texts and numbers in arguments by their JSON pointers. Elements of lists
// share one pointer.
func scalarsOf(arguments []byte) map[string][]any {
	out := map[string][]any{}
	if bytes.Contains(arguments, []byte(redact.Mark)) {
		return out
	}
	value, err := wire.Decode(arguments)
	if object, ok := value.(map[string]any); err == nil && ok {
		collectScalars(out, "", object, 0)
	}
	return out
}

func collectScalars(out map[string][]any, at string, value any, depth int) {
	const maxDepth, maxValues = 4, 1000
	switch v := value.(type) {
	case string, int64, float64:
		if len(out[at]) < maxValues {
			out[at] = append(out[at], v)
		}
	case []any:
		if depth < maxDepth {
			for _, one := range v {
				collectScalars(out, at+"/*", one, depth+1)
			}
		}
	case map[string]any:
		if depth < maxDepth {
			for name, one := range v {
				if name != "*" { // would be each member
					collectScalars(out, at+"/"+strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1"), one, depth+1)
				}
			}
		}
	}
}

// test returns a test that the own values pass, or nil. Tests with a lower rank say more about what
// a call may do.
func (v *argumentValues) test(pointer, workspace string, bases []string) (test map[string]any, rank int) {
	all := slices.Concat(v.own, v.others)
	if folder := commonFolder(v.own, all, workspace); folder != "" {
		return map[string]any{"under": folder}, 0
	}
	if namesPath(pointer) {
		if folders := foldersOfRelative(v.own, all, workspace, bases); len(folders) > 0 {
			return map[string]any{"under": oneOrList(folders)}, 0
		}
	}
	if hosts := hostsOf(v.own); len(hosts) > 0 {
		return map[string]any{"host": oneOrList(hosts)}, 1
	}
	if texts := enumOf(v.own, v.others); len(texts) > 0 {
		return map[string]any{"glob": oneOrList(texts)}, 2
	}
	if least, most, ok := rangeOf(all); ok {
		return map[string]any{"min": least, "max": most}, 3
	}
	return nil, 0
}

// commonFolder returns the deepest folder that contains all paths; if only the root does, that of
// the own ones. A folder in the working folder of the client becomes the working folder.
func commonFolder(own, all []any, workspace string) string {
	folder := folderOf(all)
	if folder == "" || folder == "/" {
		folder = folderOf(own)
	}
	switch {
	case folder == "" || folder == "/":
		return ""
	case workspace != "" && isInFolder(workspace, folder):
		return "${workspaceFolder}"
	}
	return folder
}

func folderOf(values []any) (folder string) {
	for i, v := range values {
		text, _ := v.(string)
		if u, err := url.Parse(text); err == nil && u.Scheme == "file" && u.Host == "" {
			text = u.Path
		}
		if !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") || strings.ContainsAny(text, "\n\x00") {
			return ""
		}
		dir := path.Dir(path.Clean(text))
		if i == 0 {
			folder = dir
		}
		for !isInFolder(folder, dir) {
			folder = path.Dir(folder)
		}
	}
	return folder
}

// namesPath reports whether the name of an argument says that it is a path: a relative one looks like
// other texts.
func namesPath(pointer string) bool {
	name := strings.TrimSuffix(pointer, "/*")
	name = strings.TrimSuffix(name[strings.LastIndexByte(name, '/')+1:], "s")
	for _, word := range []string{"path", "file", "dir", "directory", "folder", "filename"} {
		before, ok := strings.CutSuffix(strings.ToLower(name), word)
		if startsWord := strings.HasSuffix(before, "_") || strings.HasSuffix(before, "-") || len(before) < len(name) && name[len(before)] < 'a'; ok && (before == "" || startsWord) {
			return true
		}
	}
	return false
}

// foldersOfRelative returns the folder that contains all relative paths, in each of bases; if there is none,
// that of the own ones. It returns nil if that is the home folder or contains it.
func foldersOfRelative(own, all []any, workspace string, bases []string) (folders []string) {
	dir := relativeFolderOf(all)
	if dir == "" {
		dir = relativeFolderOf(own)
	}
	home, err := os.UserHomeDir()
	if dir == "" || err != nil {
		return nil
	}
	for _, base := range bases {
		folder := path.Join(base, dir)
		switch {
		case workspace != "" && isInFolder(workspace, folder):
			folder = "${workspaceFolder}"
		case isInFolder(folder, home):
			return nil
		}
		if !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return folders
}

// relativeFolderOf returns the deepest common folder of relative paths, or "" if not all are
// relative paths that lead downwards.
func relativeFolderOf(values []any) (folder string) {
	absolute := make([]any, len(values))
	for i, v := range values {
		text, _ := v.(string)
		if text == "" || strings.HasPrefix(text, "~") || strings.ContainsAny(text, ":$\\") || !filepath.IsLocal(text) {
			return ""
		}
		absolute[i] = "/" + text
	}
	if folder = folderOf(absolute); folder != "" {
		folder = "." + folder
	}
	return folder
}

func isInFolder(folder, path string) bool {
	return folder == "/" || path == folder || strings.HasPrefix(path, folder+"/")
}

func hostsOf(values []any) (hosts []string) {
	for _, v := range values {
		text, _ := v.(string)
		u, err := url.Parse(text)
		if err != nil || !slices.Contains([]string{"http", "https", "ws", "wss", "ftp"}, u.Scheme) || u.Hostname() == "" {
			return nil
		}
		if host := strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")); !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// enumOf returns the own texts if they are short, and if they recur or nothing shows that they do
// not.
func enumOf(own, others []any) (texts []string) {
	for _, v := range own {
		text, ok := v.(string)
		if !ok || text == "" || len(text) > maxEnumValue || strings.ContainsAny(text, "*?\n") || len(others) >= minSimilar && !slices.Contains(others, v) {
			return nil
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

func rangeOf(values []any) (least, most float64, ok bool) {
	for i, v := range values {
		n, ok := v.(float64)
		if whole, isInteger := v.(int64); isInteger {
			n, ok = float64(whole), true
		}
		if !ok || n < -1<<53 || n > 1<<53 {
			return 0, 0, false
		}
		if i == 0 {
			least, most = n, n
		}
		least, most = min(least, n), max(most, n)
	}
	return least, most, len(values) > 0
}

func oneOrList(list []string) any {
	if len(list) == 1 {
		return list[0]
	}
	return list
}

// RuleTrial is what rules would have done with the recorded calls to tools.
type RuleTrial struct {
	From     time.Time `json:"from" doc:"Calls since this time were tested"`
	Complete bool      `json:"complete" doc:"false: older calls after 'from' were not tested, because there are too many"`
	Calls    int       `json:"calls" doc:"Tool calls that were tested"`
	Asked    int       `json:"asked" doc:"Calls for which the user would have been asked"`
	Denied   int       `json:"denied" doc:"Calls that would have been denied"`
	Allowed  int       `json:"allowed" doc:"Calls that a rule would have allowed without asking"`
	// Calls that could not be evaluated, by the reason.
	Redacted    int `json:"redacted" doc:"Calls that could not be evaluated because secrets were removed from their arguments"`
	Cut         int `json:"cut" doc:"Calls that could not be evaluated because their arguments were too long to be recorded completely"`
	NotRecorded int `json:"notRecorded" doc:"Calls that could not be evaluated because their arguments were not recorded"`

	ProfileUnknown int `json:"profileUnknown" doc:"Calls that were evaluated as calls without a profile, because the history does not record it, although a rule is for a profile"`

	Decisions []RuleDecision `json:"decisions" nullable:"false" doc:"The newest calls that would have needed approval or been denied"`
	Rules     []RuleCount    `json:"rules" nullable:"false" doc:"How many calls each rule decides"`
}

// RuleDecision is what rules would have done with one call.
type RuleDecision struct {
	ID     string    `json:"id"`
	At     time.Time `json:"at"`
	Client string    `json:"client"`
	Server string    `json:"server"`
	Tool   string    `json:"tool"`
	// Account is the account of the server that was used; "" if it has none.
	Account string `json:"account"`
	Then    string `json:"then" enum:"ask,deny"`
	Rule    string `json:"rule" doc:"Configuration key of the rule"`
	Why     string `json:"why"`
}

// RuleCount is the number of calls about which a rule decides.
type RuleCount struct {
	Rule  string `json:"rule"`
	Calls int    `json:"calls"`
}

// Limits of a trial.
const (
	maxTriedCalls     = 100_000
	maxTriedArguments = 20_000 // calls whose arguments are read
	maxDecisions      = 100
	trialTime         = 20 * time.Second
)

// TryRules decides about the recorded calls since from, newest first, as if rules had been in
// force. Links and folders are those of today.
func TryRules(ctx context.Context, calls Calls, rules *ArgumentRules, from time.Time) (*RuleTrial, error) {
	out := &RuleTrial{From: from.UTC(), Decisions: []RuleDecision{}, Rules: []RuleCount{}}
	end := time.Now().Add(trialTime)
	read := 0
	for q := (store.Query{From: from, Limit: store.MaxLimit}); ; {
		page, next, err := calls.Calls(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range page {
			c := &page[i]
			if c.Method != "tools/call" || c.FromServer || c.Server == "" {
				continue
			}
			if out.Calls >= maxTriedCalls || read >= maxTriedArguments || time.Now().After(end) {
				return out, nil
			}
			out.Calls++
			if rules.DependsOnProfile(c) {
				out.ProfileUnknown++
			}
			needs, applies := rules.NeedsArguments(c)
			if !applies {
				continue
			}
			if needs {
				read++
				judged, err := out.loadArguments(ctx, calls, c)
				if err != nil {
					return nil, err
				}
				if !judged {
					continue
				}
			}
			out.decide(rules, c)
		}
		if next == 0 {
			out.Complete = true
			return out, nil
		}
		q.Before = next
	}
}

// loadArguments reads the arguments of a call. It returns false, and counts the call, if they are
// not there as they were.
func (t *RuleTrial) loadArguments(ctx context.Context, calls Calls, c *core.Call) (bool, error) {
	r, err := calls.Call(ctx, c.ID)
	if core.CodeOf(err) == core.CodeNotFound {
		t.NotRecorded++ // deleted meanwhile
		return false, nil
	}
	if err != nil {
		return false, err
	}
	switch {
	case r.ArgumentsCut != nil:
		t.Cut++
		return false, nil
	case bytes.Contains(r.Arguments, []byte(redact.Mark)):
		t.Redacted++
		return false, nil
	case len(r.Arguments) == 0 && c.BytesIn > len(c.Name)+len(`{"name":"","arguments":{}}`):
		t.NotRecorded++
		return false, nil
	}
	c.Params, c.Arguments = r.Arguments, core.Span{End: len(r.Arguments)}
	return true, nil
}

// isByUser reports whether the user made a call, on the page or the command line. A client can
// report any name, but its calls have a session, a shim or the modern era.
func isByUser(c *core.Call) bool {
	return c.Client.Token == "" && (c.Client.Name == core.PageClient || c.Client.Name == core.CommandClient) &&
		c.Session == "" && c.Shim == "" && c.Era == core.Legacy
}

func (t *RuleTrial) decide(rules *ArgumentRules, c *core.Call) {
	then, key, why := rules.Decide(c)
	switch then {
	case "":
		return
	case "allow":
		t.Allowed++
	case "ask":
		if isByUser(c) {
			return // the user is not asked about calls of the page and the command line
		}
		t.Asked++
	case "deny":
		t.Denied++
	}
	found := false
	for i := range t.Rules {
		if t.Rules[i].Rule == key {
			t.Rules[i].Calls++
			found = true
		}
	}
	if !found {
		t.Rules = append(t.Rules, RuleCount{key, 1})
	}
	if then != "allow" && len(t.Decisions) < maxDecisions {
		client := c.Client.Token
		if client == "" {
			client = c.Client.Name
		}
		t.Decisions = append(t.Decisions, RuleDecision{ID: strconv.FormatInt(c.ID, 10), At: c.At, Client: client, Server: c.Server, Tool: c.Name, Account: c.Account, Then: then, Rule: key, Why: why})
	}
}
