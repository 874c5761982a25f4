package policy

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

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
