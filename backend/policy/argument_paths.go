package policy

import (
	"errors"
	"io"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/config"

	"golang.org/x/text/unicode/norm"
)

const (
	maxTestedPath = 8 << 10 // bytes
	maxSymlinks   = 64
	// maxEquivalentNames limits the entries of a folder that are compared with a name.
	maxEquivalentNames = 20000
	// maxLookups limits the lookups in the file system for one call, so that no arguments keep the
	// processor busy for seconds. An entry that is read of a folder counts as one.
	maxLookups = 50000
)

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
	possible := e.paths(v.text)
	b := truth{false, possible.complete}
	for _, p := range possible.paths {
		one := e.withinAny(folders, p.path)
		if e.server.paths.launched {
			matches, ok := e.matches(p.path)
			if !ok {
				one = truth{true, false}
			}
			for _, m := range matches {
				one = one.all(e.withinAny(folders, m))
			}
		}
		b = truth{b.possible || one.possible, b.certain && (one.certain || p.unlikely)}
	}
	if !possible.complete {
		b.possible = true
	}
	return b
}

func (e *evaluation) withinAny(folders []string, path string) truth {
	b := no
	for _, f := range folders {
		b = b.or(e.within(f, path))
	}
	return b
}

// within compares one folder of a rule with one absolute path.
func (e *evaluation) within(folder, path string) truth {
	rest, isWorkspace := strings.CutPrefix(folder, config.WorkspaceRoot)
	switch {
	case isWorkspace && e.call.Workspace == "":
		return unknown
	case isWorkspace:
		folder = e.call.Workspace + rest
	case folder == "~" || strings.HasPrefix(folder, "~/"):
		home, err := os.UserHomeDir()
		if err != nil {
			return unknown
		}
		folder = home + folder[1:]
	}
	folder = filepath.Clean(folder)
	clean := filepath.Clean(path)
	b := e.withinFolder(folder, path, clean)
	if !b.possible && (sameNames(folder, clean) || e.wildcardReaches(folder, clean)) {
		return unknown
	}
	return b
}

// sameNames reports whether path is in folder if Unicode normal forms do not matter, such as é as
// one code point and as e with a combining accent.
func sameNames(folder, path string) bool {
	return !(isASCII(folder) && isASCII(path)) && withinFolded(norm.NFC.String(folder), norm.NFC.String(path))
}

// wildcardReaches reports whether a path with wildcards, as a shell expands them, could match
// folder or something in it.
func (e *evaluation) wildcardReaches(folder, path string) bool {
	i := wildcardAt(path)
	if i < 0 {
		return false
	}
	start := filepath.Dir(path[:i] + "x")
	if withinFolded(start, folder) || !e.server.paths.launched {
		return withinFolded(start, folder)
	}
	from, to := e.resolve(start), e.resolve(folder)
	return from.err != nil || to.err != nil || withinFolded(from.path, to.path)
}

func (e *evaluation) withinFolder(folder, path, clean string) truth {
	if !e.server.paths.local {
		b := exactly(withinFolded(folder, clean))
		if e.server.paths.launched { // a folder may be mounted under the same name
			b.possible = b.possible || e.withinResolved(folder, path, clean).possible
		}
		return b
	}
	return e.withinResolved(folder, path, clean)
}

// withinResolved is withinFolder for the files of this machine.
func (e *evaluation) withinResolved(folder, path, clean string) truth {
	at := e.resolve(folder)
	if at.err != nil {
		return unknown
	}
	b := e.withinTarget(at, e.resolve(path))
	if path != clean { // some programs remove .. before they follow links
		b = b.all(e.withinTarget(at, e.resolve(clean)))
	}
	return b
}

func (e *evaluation) withinTarget(folder, target resolvedPath) truth {
	switch {
	case target.err != nil:
		return unknown
	case withinFolded(folder.path, target.path):
		return yes
	case sameNames(folder.path, target.path) || e.isInSameFolder(folder, target):
		return unknown
	}
	return no
}

// isInSameFolder reports whether path is in folder under another name of folder: with a bind mount,
// or on a file system that ignores case.
func (e *evaluation) isInSameFolder(folder, path resolvedPath) bool {
	root := e.stat(filepath.VolumeName(path.path) + string(filepath.Separator))
	want := root
	if n := len(folder.parts); n > 0 {
		want = folder.parts[n-1]
	}
	if want == nil {
		return false
	}
	isFolder := func(info fs.FileInfo) bool { return info != nil && os.SameFile(want, info) }
	return isFolder(root) || slices.ContainsFunc(path.parts, isFolder) || e.lookups > maxLookups
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

func withinFolded(folder, path string) bool {
	if runtime.GOOS != "linux" { // file systems that ignore case
		folder, path = strings.ToLower(folder), strings.ToLower(path)
	}
	return config.Within(folder, path)
}

var (
	errSymlinkLoop    = errors.New("too many symbolic links")
	errProcessLink    = errors.New("the symbolic link has a different target in each process")
	errTooManyLookups = errors.New("there are too many paths, or they are too long")
)

// resolve is resolveSymlinks, once for each path of a call.
func (e *evaluation) resolve(path string) resolvedPath {
	r, ok := e.files[path]
	if !ok {
		if e.files == nil {
			e.files = make(map[string]resolvedPath)
		}
		r.path, r.parts, r.err = e.resolveSymlinks(path)
		e.files[path] = r
	}
	return r
}

// resolveSymlinks follows the symbolic links of an absolute path as the system does, .. included.
// Parts that do not exist are kept. The error is one of reading a part.
func (e *evaluation) resolveSymlinks(path string) (done string, parts []fs.FileInfo, err error) {
	volume := filepath.VolumeName(path)
	separator := string(filepath.Separator)
	root := volume + separator
	rest, links, lookups := path[len(volume):], 0, 0
	done = root
	for rest != "" {
		rest = strings.TrimLeft(rest, "/"+separator)
		end := strings.IndexAny(rest, "/"+separator)
		part := rest
		if end >= 0 {
			part, rest = rest[:end], rest[end:]
		} else {
			rest = ""
		}
		switch part {
		case "", ".":
			continue
		case "..":
			done, parts = filepath.Dir(done), parts[:max(0, len(parts)-1)]
			continue
		}
		next := done + separator + part
		if done == root {
			next = done + part
		}
		if tooMany := e.countLookups(1); tooMany != nil {
			return "", nil, tooMany
		}
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist) || isNotDir(err):
			same, err := e.equivalentName(done, part)
			if err != nil {
				return "", nil, err
			}
			if same != "" && lookups < maxSymlinks {
				lookups++
				rest = same + rest
				continue
			}
			done, parts = next, append(parts, nil)
			continue
		case err != nil:
			return "", nil, err
		case info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) == 0:
			done, parts = next, append(parts, info)
			continue
		}
		if strings.HasPrefix(next, "/proc/") {
			return "", nil, errProcessLink // such as /proc/self/cwd, also through /dev/fd
		}
		if links++; links > maxSymlinks {
			return "", nil, errSymlinkLoop
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", nil, err
		}
		if rest = target + rest; filepath.IsAbs(target) {
			volume = filepath.VolumeName(target)
			root = volume + separator
			done, parts, rest = root, nil, rest[len(volume):]
		}
	}
	return done, parts, nil
}

var errEquivalentNames = errors.New("too many files in the folder match")

// equivalentName returns the name in a folder that is the same as name in Unicode normalization, or
// "": some servers look for it if name does not exist.
func (e *evaluation) equivalentName(dir, name string) (string, error) {
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
	normal, same := norm.NFC.String(name), ""
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

// isNotDir reports whether a part below a file was looked up.
func isNotDir(err error) bool {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return strings.Contains(p.Err.Error(), "not a directory")
	}
	return false
}

// maxWildcardMatches limits the folder entries that are compared with the paths of one call.
const maxWildcardMatches = 2000

// wildcardAt returns the position of the first wildcard of a shell in text, or -1.
func wildcardAt(text string) int {
	for i := range len(text) {
		switch text[i] {
		case '*', '?', '[', '{':
			return i
		case '(':
			if i > 0 && strings.IndexByte("@+!", text[i-1]) >= 0 {
				return i
			}
		}
	}
	return -1
}

// matches returns the files that a server may find if it expands the wildcards of an absolute path as
// a shell does, with the links in it resolved. ok is false if there are more.
func (e *evaluation) matches(pattern string) (found []string, ok bool) {
	if wildcardAt(pattern) < 0 {
		return nil, true
	}
	m, cached := e.matched[pattern]
	if !cached {
		if e.matched == nil {
			e.matched = make(map[string]wildcardMatches)
		}
		m.found, m.ok = e.match(pattern)
		e.matched[pattern] = m
	}
	return m.found, m.ok
}

type wildcardMatches struct {
	found []string
	ok    bool
}

func (e *evaluation) match(pattern string) (found []string, ok bool) {
	start := strings.LastIndexByte(pattern[:wildcardAt(pattern)], filepath.Separator) + 1
	dir := e.resolve(pattern[:start])
	if dir.err != nil {
		return nil, false
	}
	found = []string{dir.path}
	for part := range strings.SplitSeq(pattern[start:], string(filepath.Separator)) {
		var next []string
		for _, dir := range found {
			if part == "" || part == "." {
				next = append(next, dir)
				continue
			}
			names := []string{part}
			if wildcardAt(part) >= 0 {
				if names, ok = e.matchingNames(dir, part); !ok {
					return nil, false
				}
			}
			for _, name := range names {
				if e.entries++; e.entries > maxWildcardMatches {
					return nil, false
				}
				resolved, _, err := e.resolveSymlinks(dir + string(filepath.Separator) + name)
				if err != nil {
					return nil, false
				}
				next = append(next, resolved)
			}
		}
		found = next
	}
	return found, true
}

// matchingNames returns the entries of a folder that match a pattern: for **, which also matches the
// folder itself and what is below its folders, ok is false if the folder has links or folders.
func (e *evaluation) matchingNames(dir, pattern string) (names []string, ok bool) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, os.IsNotExist(err) || isNotDir(err)
	}
	defer f.Close()
	entries, err := f.ReadDir(maxWildcardMatches + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, isNotDir(err)
	}
	if e.entries += len(entries); e.entries > maxWildcardMatches {
		return nil, false
	}
	loose := looseWildcards(pattern)
	for _, entry := range entries {
		if strings.Contains(pattern, "**") && !entry.Type().IsRegular() {
			return nil, false
		}
		if matched, err := filepath.Match(loose, entry.Name()); matched || err != nil {
			names = append(names, entry.Name())
		}
	}
	return names, true
}

// looseWildcards returns a pattern of filepath.Match that matches at least the names that pattern, which
// may have braces, negated and extended groups, matches in any shell.
func looseWildcards(pattern string) string {
	if strings.ContainsAny(pattern, `(\`) || strings.Contains(pattern, "[[") {
		return "*"
	}
	if open := strings.IndexByte(pattern, '{'); open >= 0 {
		pattern = pattern[:open] + "*" + pattern[max(open, strings.LastIndexByte(pattern, '}'))+1:]
	}
	return strings.ReplaceAll(pattern, "[!", "[^")
}

// testHost reports whether the host of a URL matches one of patterns. A URL that programs read
// differently is unknown: with a backslash, white space or another script in it, with an address
// that is not written in the usual way, or without a host after // if its scheme may have one.
func testHost(v reading, patterns []string) truth {
	switch {
	case v.kind == readAbsent:
		return no
	case v.kind != readText || len(v.text) > maxTestedText:
		return unknown
	}
	host, ok := hostOf(strings.TrimSpace(v.text))
	if !ok {
		return unknown
	}
	return exactly(slices.ContainsFunc(patterns, func(p string) bool { return config.Match(p, host) }))
}

var secondURL = osutil.LazyRegexp(`[,;|]["']*(?:[A-Za-z][\w+.-]*:)?//`)

// hostOf returns the host of a URL in lower case, "" if it certainly has none, as file:///etc.
func hostOf(text string) (host string, ok bool) {
	if strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c == '\\' || c == 0x7f }) {
		return "", false
	}
	if secondURL().MatchString(text) {
		return "", false // some servers read a list
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" {
		return "", false
	}
	if u.User != nil && strings.Contains(u.User.String(), "%40") {
		return "", false // with two @, programs disagree about which one ends the user
	}
	host = strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	switch u.Scheme {
	case "http", "https", "ws", "wss", "ftp":
		if host == "" || u.Opaque != "" {
			return "", false
		}
	case "file":
		if u.Opaque != "" || strings.HasPrefix(u.Path, "//") { // file:////server/share
			return "", false
		}
	case "data", "about":
		if strings.Contains(u.Opaque, "//") {
			return "", false
		}
	default:
		if host == "" { // programs find one in gopher:/host, feed:host and view-source:https://host
			return "", false
		}
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().WithZone("").String(), true
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	numeric := last != "" && strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x")
	unusual := strings.ContainsFunc(host, func(c rune) bool { return c > 127 }) || strings.ContainsAny(host, "%,:;'\"<>^`{|}") || strings.HasSuffix(host, ".")
	return host, !numeric && !unusual
}
