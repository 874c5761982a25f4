package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/drawbridge-mcp/drawbridge/config"
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
