package policy

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/config"

	"golang.org/x/text/unicode/norm"
)

const (
	maxTestedPath = 8 << 10 // bytes
	// maxEquivalentNames limits the entries of a folder that are compared with a name.
	maxEquivalentNames = 20000
	// maxLookups limits the lookups in the file system for one call, so that no arguments keep the
	// processor busy for seconds. An entry that is read of a folder counts as one.
	maxLookups = 50000
	// maxWildcardMatches limits the folder entries that are compared with the paths of one call.
	maxWildcardMatches = 2000

	separator = string(filepath.Separator)
)

var pathSeparators = map[bool]string{true: "/", false: "/" + separator}[separator == "/"]

// testUnder reports whether a path is in one of folders. It is certain if every file that a server
// could mean is. The files of another machine or container are compared by name only, because the
// same path may lead elsewhere there.
func (e *evaluation) testUnder(v reading, folders []string) truth {
	switch {
	case v.kind == readAbsent:
		return no
	case v.kind != readText || len(v.text) > maxTestedPath:
		return unknown
	}
	all := e.paths(v.text)
	b := truth{!all.complete, all.complete}
	for _, p := range all.paths {
		one := no
		for _, f := range folders {
			one = one.or(e.within(f, p.path))
		}
		b = truth{b.possible || one.possible, b.certain && (one.certain || p.unlikely)}
	}
	return b
}

// within compares one folder of a rule with one absolute path, with .. removed first, as some
// programs do, and with links followed first.
func (e *evaluation) within(folder, path string) truth {
	folder, ok := e.folder(folder)
	if !ok {
		return unknown
	}
	clean := filepath.Clean(path)
	b := exactly(withinFolded(folder, clean))
	if e.server.paths.launched {
		r := e.withinResolved(folder, path)
		if path != clean {
			r = r.all(e.withinResolved(folder, clean))
		}
		if b.possible = b.possible || r.possible; e.server.paths.local { // elsewhere, a folder may be mounted under the same name
			b = r
		}
	}
	if !b.possible && (sameNames(folder, clean) || e.wildcardReaches(folder, clean)) {
		return unknown
	}
	return b
}

// folder returns the absolute path of a folder in a rule, or of a base of a server.
func (e *evaluation) folder(of string) (path string, ok bool) {
	if rest, isWorkspace := strings.CutPrefix(of, config.WorkspaceRoot); isWorkspace {
		return filepath.Clean(e.call.Workspace + rest), e.call.Workspace != ""
	}
	path = expandHome(of)
	return filepath.Clean(path), filepath.IsAbs(path)
}

func expandHome(path string) string {
	if path == "~" || strings.HasPrefix(path, "~/") {
		if home, err := os.UserHomeDir(); err == nil {
			return home + path[1:]
		}
	}
	return path
}

// sameNames reports whether path is in folder if Unicode normal forms do not matter, such as é as
// one code point and as e with a combining accent.
func sameNames(folder, path string) bool {
	return !(isASCII(folder) && isASCII(path)) && withinFolded(norm.NFC.String(folder), norm.NFC.String(path))
}

func withinFolded(folder, path string) bool {
	if runtime.GOOS != "linux" { // file systems that ignore case
		folder, path = strings.ToLower(folder), strings.ToLower(path)
	}
	return config.Within(folder, path)
}

// withinResolved compares the files of this machine that two paths lead to.
func (e *evaluation) withinResolved(folder, path string) truth {
	in, target := e.resolve(folder), e.resolve(path)
	switch {
	case in.err != nil || target.err != nil:
		return unknown
	case withinFolded(in.path, target.path):
		return yes
	case sameNames(in.path, target.path) || e.isInSameFolder(in.path, target.path):
		return unknown
	}
	return no
}

// isInSameFolder reports whether path is in folder under another name of folder: with a bind mount,
// or on a file system that ignores case.
func (e *evaluation) isInSameFolder(folder, path string) bool {
	want, parent := e.stat(folder), filepath.Dir(path)
	for ; want != nil; path, parent = parent, filepath.Dir(parent) {
		if info := e.stat(path); info != nil && os.SameFile(want, info) {
			return true
		}
		if parent == path {
			break
		}
	}
	return e.lookups > maxLookups
}

// stat is os.Stat, once for each path of a call. It returns nil for a path that cannot be read.
func (e *evaluation) stat(path string) fs.FileInfo {
	info, ok := e.infos[path]
	if !ok && e.countLookups(1) == nil {
		if e.infos == nil {
			e.infos = make(map[string]fs.FileInfo)
		}
		if i, err := os.Stat(path); err == nil {
			info = i
		}
		e.infos[path] = info
	}
	return info
}

// countLookups adds to the lookups in the file system for a call, and fails beyond maxLookups.
func (e *evaluation) countLookups(n int) error {
	if e.lookups += n; e.lookups > maxLookups {
		return errTooManyLookups
	}
	return nil
}

var (
	errSymlinkLoop     = errors.New("the symbolic links form a loop")
	errProcessLink     = errors.New("the symbolic link has a different target in each process")
	errTooManyLookups  = errors.New("there are too many paths, or they are too long")
	errEquivalentNames = errors.New("too many files in the folder match")
)

// resolve follows the symbolic links of an absolute path as the system does, .. included, once for
// each path of a call. Parts that do not exist are kept. The error is one of reading a part.
func (e *evaluation) resolve(path string) resolvedPath {
	r, ok := e.files[path]
	if !ok {
		if e.files == nil {
			e.files = make(map[string]resolvedPath)
		}
		e.files[path] = resolvedPath{err: errSymlinkLoop} // what a loop finds
		r.path, r.err = e.follow(path)
		e.files[path] = r
	}
	return r
}

func (e *evaluation) follow(path string) (string, error) {
	path = strings.TrimRight(path, pathSeparators)
	if root := filepath.VolumeName(path) + separator; len(path) < len(root) {
		return root, nil
	}
	i := strings.LastIndexAny(path, pathSeparators) + 1
	name, parent := path[i:], e.resolve(path[:i])
	switch {
	case parent.err != nil || name == ".":
		return parent.path, parent.err
	case name == "..":
		return filepath.Dir(parent.path), nil
	}
	next := filepath.Join(parent.path, name)
	if err := e.countLookups(1); err != nil {
		return "", err
	}
	info, err := os.Lstat(next)
	switch {
	case errors.Is(err, fs.ErrNotExist) || isNotDir(err):
		same, err := e.equivalentName(parent.path, name)
		if same == "" {
			return next, err
		}
		r := e.resolve(filepath.Join(parent.path, same))
		return r.path, r.err
	case err != nil:
		return "", err
	case info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) == 0:
		return next, nil
	case strings.HasPrefix(next, "/proc/"):
		return "", errProcessLink // such as /proc/self/cwd, also through /dev/fd
	}
	target, err := os.Readlink(next)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(target) {
		target = parent.path + separator + target
	}
	r := e.resolve(target)
	return r.path, r.err
}

// isNotDir reports whether a part below a file was looked up.
func isNotDir(err error) bool {
	p, ok := errors.AsType[*fs.PathError](err)
	return ok && strings.Contains(p.Err.Error(), "not a directory")
}

// equivalentName returns the name in a folder that is the same as name in Unicode normalization, or
// "": some servers look for it if name does not exist.
func (e *evaluation) equivalentName(dir, name string) (same string, err error) {
	if isASCII(name) && !strings.ContainsAny(name, "K;`") { // only these have equivalents outside of ASCII
		return "", nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return "", nil
	}
	defer f.Close()
	entries, err := f.Readdirnames(maxEquivalentNames + 1)
	if tooMany := e.countLookups(len(entries)); tooMany != nil {
		return "", tooMany
	}
	if err == nil && len(entries) > maxEquivalentNames {
		return "", errEquivalentNames
	}
	normal := norm.NFC.String(name)
	for _, entry := range entries {
		if entry != name && norm.NFC.String(entry) == normal {
			if same != "" {
				return "", errEquivalentNames
			}
			same = entry
		}
	}
	return same, nil
}

// wildcardAt returns the position of the first wildcard of a shell in text, or -1.
func wildcardAt(text string) int {
	at := wildcard().FindStringIndex(text)
	if at == nil {
		return -1
	}
	return at[1] - 1
}

// wildcardReaches reports whether a path with wildcards, as a shell expands them, could match
// folder or something in it, also once that exists.
func (e *evaluation) wildcardReaches(folder, path string) bool {
	i := wildcardAt(path)
	if i < 0 {
		return false
	}
	start := filepath.Dir(path[:i] + "x")
	part, _, _ := strings.Cut(path[strings.LastIndexByte(path[:i], filepath.Separator)+1:], separator)
	if reaches(start, part, folder) || !e.server.paths.launched {
		return reaches(start, part, folder)
	}
	from, to := e.resolve(start), e.resolve(folder)
	return from.err != nil || to.err != nil || reaches(from.path, part, to.path)
}

// reaches reports whether folder is start, or in an entry of start that a pattern may match.
func reaches(start, pattern, folder string) bool {
	if !withinFolded(start, folder) || start == folder || strings.Contains(pattern, "**") {
		return withinFolded(start, folder)
	}
	name, _, _ := strings.Cut(strings.TrimLeft(folder[len(start):], separator), separator)
	matched, err := filepath.Match(strings.ToLower(looseWildcards(pattern)), strings.ToLower(name))
	return matched || err != nil || !isASCII(pattern+name)
}

// expand adds to found the files that a server may find if it expands the wildcards of pattern, below
// dir, as a shell does. It returns false if there are more: for **, which also matches what is below
// the folders of a folder, if that has links or folders.
func (e *evaluation) expand(dir, pattern string, found *[]string) bool {
	i := wildcardAt(pattern)
	if i < 0 {
		r := e.resolve(dir + pattern)
		if r.err == nil {
			*found = append(*found, r.path)
		}
		return r.err == nil
	}
	start := strings.LastIndexByte(pattern[:i], filepath.Separator) + 1
	at := e.resolve(dir + pattern[:start])
	f, err := os.Open(at.path)
	if at.err != nil || err != nil {
		return at.err == nil && (os.IsNotExist(err) || isNotDir(err))
	}
	entries, err := f.ReadDir(maxWildcardMatches + 1)
	f.Close()
	if e.entries += len(entries); e.entries > maxWildcardMatches || len(entries) == 0 && err != nil && !errors.Is(err, io.EOF) {
		return isNotDir(err)
	}
	part, rest, _ := strings.Cut(pattern[start:], separator)
	loose := looseWildcards(part)
	for _, entry := range entries {
		if strings.Contains(part, "**") && !entry.Type().IsRegular() {
			return false
		}
		if matched, err := filepath.Match(loose, entry.Name()); (matched || err != nil) && !e.expand(filepath.Join(at.path, entry.Name())+separator, rest, found) {
			return false
		}
	}
	return true
}

// looseWildcards returns a pattern of filepath.Match that matches at least the names that pattern, which
// may have braces, negated and extended groups, matches in any shell.
func looseWildcards(pattern string) string {
	if strings.ContainsAny(pattern, `(\`) || strings.Contains(pattern, "[[") {
		return "*"
	}
	return strings.ReplaceAll(braces().ReplaceAllString(pattern, "*"), "[!", "[^")
}

var (
	wildcard = osutil.LazyRegexp(`[*?\[{]|[@+!]\(`)
	braces   = osutil.LazyRegexp(`(?s)\{(?:.*\}|[^}]*$)`)
)
