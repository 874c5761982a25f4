package approvals

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// Limits of what is read to show the effect of a call on files.
const (
	maxFile       = 1 << 20
	maxDiff       = 64 << 10 // of a diff, in bytes
	fileReadLimit = 500 * time.Millisecond
	maxFileReads  = 8 // at once: a file system that hangs keeps its goroutine
)

// FileChange is the effect of a call on one file, computed from the arguments and the file as it is. It is not what the
// server said.
type FileChange struct {
	Path    string `json:"path" doc:"With links resolved"`
	Diff    string `json:"diff,omitempty" doc:"Unified diff"`
	Added   int    `json:"added" doc:"Number of added lines"`
	Removed int    `json:"removed" doc:"Number of removed lines"`
	Note    string `json:"note,omitempty" doc:"Why there is no diff, or what is special about the file"`
	base    string // identifies the file as it was read
}

// Names of arguments of file tools.
var (
	pathNames    = []string{"path", "file_path", "filePath", "filepath", "file", "filename", "absolute_path", "target_file"}
	contentNames = []string{"content", "contents", "file_text", "new_content", "text"}
	fromNames    = []string{"source", "from", "old_path", "oldPath", "source_path", "sourcePath"}
	toNames      = []string{"destination", "to", "new_path", "newPath", "destination_path", "destinationPath"}
	oldNames     = []string{"oldText", "old_text", "oldString", "old_string", "old_str", "search"}
	newNames     = []string{"newText", "new_text", "newString", "new_string", "new_str", "replace"}
	// Arguments that do not change what is written.
	neutralNames = []string{"encoding", "createDirs", "create_dirs", "createDirectories", "create_directories", "overwrite", "explanation", "description"}

	writes  = regexp.MustCompile(`(?i)write|create|save|overwrite|update|edit|replace|put`)
	partial = regexp.MustCompile(`(?i)append|insert|prepend|patch|add`)
	moves   = regexp.MustCompile(`(?i)move|rename`)
	deletes = regexp.MustCompile(`(?i)delete|remove|unlink`)
)

type textEdit struct{ before, after string }

// fileRequest is what the arguments of a file tool say.
type fileRequest struct {
	path, to string // to is the target of a move
	content  *string
	edits    []textEdit
	all      bool // replace all occurrences
	delete   bool
}

// parseFileRequest reads the arguments of a tool call. ok is false unless every argument is understood.
func parseFileRequest(tool string, arguments []byte, preview string) (r fileRequest, ok bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(arguments, &members) != nil {
		return r, false
	}
	take := func(names []string) (text string, found bool) {
		for _, name := range names {
			if raw, has := members[name]; has && json.Unmarshal(raw, &text) == nil {
				delete(members, name)
				return text, true
			}
		}
		return "", false
	}
	for _, name := range []string{"replace_all", "replaceAll"} {
		if raw, has := members[name]; has {
			r.all = string(raw) == "true"
			delete(members, name)
		}
	}
	delete(members, preview)
	for _, name := range neutralNames {
		delete(members, name)
	}
	var hasPath, hasTo bool
	if r.to, hasTo = take(toNames); hasTo {
		r.path, hasPath = take(append(fromNames, pathNames...))
		return r, hasPath && len(members) == 0 && moves.MatchString(tool)
	}
	if r.path, hasPath = take(pathNames); !hasPath {
		return r, false
	}
	if before, found := take(oldNames); found {
		after, _ := take(newNames)
		r.edits = []textEdit{{before, after}}
		return r, len(members) == 0
	}
	if list, found := members["edits"]; found {
		var edits []map[string]json.RawMessage
		delete(members, "edits")
		if json.Unmarshal(list, &edits) != nil {
			return r, false
		}
		outer := len(members)
		for _, members = range edits {
			before, found := take(oldNames)
			after, _ := take(newNames)
			if !found || len(members) > 0 {
				return r, false
			}
			r.edits = append(r.edits, textEdit{before, after})
		}
		return r, outer == 0 && len(edits) > 0
	}
	if text, found := take(contentNames); found {
		r.content = &text
		return r, len(members) == 0 && writes.MatchString(tool) && !partial.MatchString(tool)
	}
	r.delete = true
	return r, len(members) == 0 && deletes.MatchString(tool)
}

var fileReads = make(chan struct{}, maxFileReads)

// fileChanges returns the effect of a call on files, or nil if it is not that of a file tool on this machine. It gives up
// after fileReadLimit.
func fileChanges(ctx context.Context, h *Held) []FileChange {
	if len(h.Folders) == 0 {
		return nil
	}
	r, ok := parseFileRequest(h.Tool, []byte(h.Arguments), h.previewName)
	if !ok {
		return nil
	}
	late := []FileChange{{Path: r.path, Note: "The file cannot be read in time.", base: "late"}}
	select {
	case fileReads <- struct{}{}:
	default:
		return late
	}
	done := make(chan []FileChange, 1)
	go func() {
		defer func() { <-fileReads }()
		done <- r.changes(h)
	}()
	limit := time.NewTimer(fileReadLimit)
	defer limit.Stop()
	select {
	case list := <-done:
		return list
	case <-limit.C:
	case <-ctx.Done():
	}
	return late
}

func (r *fileRequest) changes(h *Held) []FileChange {
	from := readWithin(r.path, h)
	if r.to != "" {
		to := readWithin(r.to, h)
		c := FileChange{Path: from.path, Note: cmp.Or(from.problem, "Moved to "+to.path+"."), base: from.digest + to.digest}
		switch {
		case from.missing:
			c.Note = "The file does not exist."
		case to.exists:
			c.Note = "Moved to " + to.path + ", which exists."
		case to.problem != "":
			c.Note = "Moved to " + to.path + ": " + to.problem
		}
		return []FileChange{c}
	}
	c := FileChange{Path: from.path, base: from.digest}
	after := from.text
	switch {
	case from.problem != "":
		c.Note = from.problem
		return []FileChange{c}
	case from.missing && r.content == nil:
		c.Note = "The file does not exist."
		return []FileChange{c}
	case r.content != nil:
		if after = *r.content; from.missing {
			c.Note = "New file."
		}
	case r.delete:
		after, c.Note = "", "The file is deleted."
	}
	for _, e := range r.edits {
		n := strings.Count(after, e.before)
		switch {
		case e.before == "" || n == 0:
			c.Note = "The text to replace is not in the file as it is now; the server may look for similar text."
			return []FileChange{c}
		case r.all:
			after = strings.ReplaceAll(after, e.before, e.after)
		default:
			after = strings.Replace(after, e.before, e.after, 1)
			if n > 1 {
				c.Note = fmt.Sprintf("The text to replace occurs %d times; the first one is shown.", n)
			}
		}
	}
	c.Diff, c.Added, c.Removed = unifiedDiff(from.text, after)
	if len(c.Diff) > maxDiff {
		c.Diff, c.Note = "", "The difference is too long to be shown."
	} else if c.Diff == "" && c.Note == "" {
		c.Note = "The file already has this content."
	}
	return []FileChange{c}
}

// fileState is a file as it was read.
type fileState struct {
	path, text, problem, digest string
	missing, exists             bool
}

// readWithin reads a file that is in one of the folders of the server, with links resolved.
func readWithin(path string, h *Held) (f fileState) {
	defer func() {
		sum := sha256.Sum256([]byte(f.path + "\x00" + f.text + "\x00" + f.problem + "\x00" + f.digest))
		f.digest = hex.EncodeToString(sum[:16])
	}()
	f.path = path
	if rest, home := strings.CutPrefix(path, "~/"); home {
		if dir, err := os.UserHomeDir(); err == nil {
			path = filepath.Join(dir, rest)
		}
	} else if !filepath.IsAbs(path) && h.Cwd != "" {
		path = filepath.Join(h.Cwd, path)
	}
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		f.problem = "The path is relative: only the server knows which file it means."
		return f
	}
	resolved, err := resolveLinks(filepath.Clean(path))
	if err != nil {
		f.problem = "The path cannot be resolved."
		return f
	}
	if f.path = resolved; !slices.ContainsFunc(h.Folders, func(dir string) bool { return isInFolder(resolved, dir) }) {
		f.problem = "The file is outside the folders of the server."
		return f
	}
	f.read()
	return f
}

func (f *fileState) read() {
	info, err := os.Lstat(f.path)
	f.exists = err == nil
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.missing, f.digest = true, "missing"
		return
	case err != nil:
		f.problem = "The file cannot be read."
		return
	case info.IsDir():
		f.problem = "It is a folder."
		return
	case !info.Mode().IsRegular():
		f.problem = "It is not a regular file."
		return
	}
	file, err := os.Open(f.path)
	if err != nil {
		f.problem = "The file cannot be read."
		return
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	sum := sha256.Sum256(content)
	f.digest = fmt.Sprintf("%x %d %d", sum, info.Size(), info.ModTime().UnixNano())
	switch {
	case err != nil:
		f.problem = "The file cannot be read."
	case len(content) > maxFile:
		f.problem = fmt.Sprintf("The file has %d bytes and is too large to be compared.", info.Size())
	case slices.Contains(content, 0) || !utf8.Valid(content):
		f.problem = fmt.Sprintf("The file is binary and has %d bytes.", info.Size())
	default:
		f.text, f.digest = string(content), "text"
	}
}

// resolveLinks resolves the links in path, whose last parts may not exist.
func resolveLinks(path string) (string, error) {
	resolved, err := osutil.RealPath(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return resolved, err
	}
	if _, dangling := os.Lstat(path); dangling == nil {
		return "", err // a link to a file that does not exist
	}
	parent := filepath.Dir(path)
	if parent == path {
		return "", err
	}
	if parent, err = resolveLinks(parent); err != nil {
		return "", err
	}
	return filepath.Join(parent, filepath.Base(path)), nil
}

func isInFolder(path, dir string) bool {
	dir, err := osutil.RealPath(dir)
	if err != nil {
		return false
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return false
	}
	rest, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rest)
}

// basesOf identifies the files as they were read.
func basesOf(list []FileChange) string {
	var all strings.Builder
	for _, c := range list {
		all.WriteString(c.Path + "\x00" + c.base + "\x00")
	}
	return all.String()
}

// unifiedDiff compares two texts.
func unifiedDiff(before, after string) (diff string, added, removed int) {
	if before == after {
		return "", 0, 0
	}
	var out strings.Builder
	out.WriteString("--- before\n+++ after\n")
	oldLine, newLine := 1, 1
	ends := before != "" && after != "" && strings.HasSuffix(before, "\n") != strings.HasSuffix(after, "\n")
	for i, list := 0, core.Diff(splitLines(before, ends), splitLines(after, ends)); i < len(list); {
		if list[i].Op == core.LineGap {
			var n int
			_, _ = fmt.Sscan(list[i].Text, &n)
			oldLine, newLine, i = oldLine+n, newLine+n, i+1
			continue
		}
		var hunk strings.Builder
		olds, news := 0, 0
		for ; i < len(list) && list[i].Op != core.LineGap; i++ {
			switch sign := map[string]string{core.LineSame: " ", core.LineOld: "-", core.LineNew: "+"}[list[i].Op]; sign {
			case "-":
				olds, removed = olds+1, removed+1
				hunk.WriteString("-" + list[i].Text + "\n")
			case "+":
				news, added = news+1, added+1
				hunk.WriteString("+" + list[i].Text + "\n")
			default:
				olds, news = olds+1, news+1
				hunk.WriteString(" " + list[i].Text + "\n")
			}
		}
		fmt.Fprintf(&out, "@@ -%d,%d +%d,%d @@\n%s", oldLine, olds, newLine, news, hunk.String())
		oldLine, newLine = oldLine+olds, newLine+news
	}
	return out.String(), added, removed
}

// splitLines splits a text. With mark, a missing line break at its end is shown.
func splitLines(text string, mark bool) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	} else if mark {
		lines[last] += " ⟨no line break at the end⟩"
	}
	return lines
}
