package history

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
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

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
