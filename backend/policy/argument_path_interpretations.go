package policy

import (
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// maxPathForms limits the spellings that are derived from one text.
const maxPathForms = 32

// possiblePath is an absolute path that a server may understand an argument as. An unlikely one
// makes a condition possible, but never uncertain.
type possiblePath struct {
	path     string
	unlikely bool
}

// possiblePaths are the paths that a server may understand a text as. complete is false if there
// are more that are not known.
type possiblePaths struct {
	paths    []possiblePath
	complete bool
}

// pathInterpretations are the ways in which programs read a text before they use it as a path. Each
// is also applied to what the others return, and only to texts that contain one of its bytes: it
// must not change others.
var pathInterpretations = []struct {
	name, bytes string
	read        func(text string) string
}{
	// Languages trim different characters: one at a time leaves what each of them leaves.
	{"without the first character, if a language trims it", trimmedBytes, func(s string) string {
		if c, size := utf8.DecodeRuneInString(s); isTrimmed(c) {
			return s[size:]
		}
		return s
	}},
	{"without the last character, if a language trims it", trimmedBytes, func(s string) string {
		if c, size := utf8.DecodeLastRuneInString(s); isTrimmed(c) {
			return s[:len(s)-size]
		}
		return s
	}},
	{"without line breaks and tabs, as URL parsers read it", "\t\n\r", strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace},
	{"with slashes instead of backslashes", `\`, func(s string) string { return strings.ReplaceAll(s, `\`, "/") }},
	{"without angle brackets, as in <file:///…>", "<", func(s string) string {
		if inner, ok := strings.CutPrefix(s, "<"); ok {
			return strings.TrimSuffix(inner, ">")
		}
		return s
	}},
	{"without quotes", "\"'`", func(s string) string { return strings.Trim(s, "\"'`") }},
	{"the name of a file, as in @file", "@", func(s string) string { return strings.TrimPrefix(s, "@") }},
	{"the value of an option, as in --file=path", "=", func(s string) string {
		if name, value, _ := strings.Cut(s, "="); !strings.ContainsAny(name, `/\`) {
			return value
		}
		return s
	}},
	{"the value of an option, as in -fpath", "-", func(s string) string {
		if len(s) > 2 && s[0] == '-' {
			return s[2:]
		}
		return s
	}},
	{"a list without its last entry", listBytes, func(s string) string {
		if at := endOfEntry().FindAllStringIndex(s[1:], -1); at != nil {
			return s[:1+at[len(at)-1][0]]
		}
		return s
	}},
	{"a list without its first entry", listBytes, func(s string) string {
		if at := startOfNext().FindStringIndex(s); at != nil {
			_, size := utf8.DecodeRuneInString(s[at[0]:])
			return s[at[0]+size:]
		}
		return s
	}},
	{`form-decoded ("+" as a space)`, "+", func(s string) string { return strings.ReplaceAll(s, "+", " ") }},
	{"percent-decoded", "%", unescape},
	{"without a fragment or a query", "#?", func(s string) string {
		if i := strings.IndexAny(s, "#?"); i > 0 {
			return s[:i]
		}
		return s
	}},
	{"composed", nonASCII, norm.NFC.String},
	{"decomposed", nonASCII, norm.NFD.String},
	{"with compatibility characters replaced (NFKC)", nonASCII, norm.NFKC.String},
}

// A list of paths is separated by these, or by white space before something that begins like a path.
// Many names contain a comma: what follows it must begin or look like a path.
const (
	lineBreaks     = `\n\v\f\r\x1c-\x1e\x{85}\x{2028}\x{2029}`
	listSeparators = `,;|` + lineBreaks
)

var (
	colon       = strings.Trim(string(filepath.ListSeparator), ";") // on Windows, it follows a drive
	endOfEntry  = osutil.LazyRegexp(`[` + listSeparators + colon + `]|[ \t]+["']*(?:/|~/|\.\.?/)`)
	startOfNext = osutil.LazyRegexp(`(?s)[` + listSeparators + `](?:[\s"']*[.~]|.*[/\\])|[ \t` + colon + `][\s"']*(?:/(?:[^/]|$)|~/|\.\.?/)`)
	listBytes   = trimmedBytes + ",;|:"
)

var trimmedBytes = bytesBetween(0, ' ') + nonASCII

// isTrimmed reports whether a language trims c: those with the property White_Space (Go, Rust, C#),
// control characters (Java, Python), the byte order mark (JavaScript), and U+180E and U+200B (old
// versions of JavaScript, Java and C#).
func isTrimmed(c rune) bool {
	return c <= ' ' || unicode.IsSpace(c) || c == '\uFEFF' || c == '\u180E' || c == '\u200B'
}

var nonASCII = bytesBetween(utf8.RuneSelf, 0xff)

func bytesBetween(first, last byte) string {
	var b []byte
	for c := int(first); c <= int(last); c++ {
		b = append(b, byte(c))
	}
	return string(b)
}

// interpretationsByByte are those of pathInterpretations that a byte of a text calls for, as bits.
var interpretationsByByte = func() (readings [256]uint32) {
	for i, r := range pathInterpretations {
		for _, c := range []byte(r.bytes) {
			readings[c] |= 1 << i
		}
	}
	return readings
}()

// textInterpretations returns the texts that a server may understand text as, text first.
func textInterpretations(text string) (forms []string, complete bool) {
	forms, complete = []string{text}, true
	add := func(form string) {
		if len(forms) >= maxPathForms {
			complete = false
		} else if !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	for i := 0; i < len(forms); i++ {
		f := forms[i]
		var wanted uint32
		for j := range len(f) {
			wanted |= interpretationsByByte[f[j]]
		}
		for j := range pathInterpretations {
			if wanted&(1<<j) != 0 {
				add(pathInterpretations[j].read(f))
			}
		}
		scheme, rest := splitScheme(f)
		switch {
		case scheme == "" || slices.Contains(webSchemes, scheme):
		case scheme == "file":
			complete = addFileURL(f, rest, add) && complete
		default:
			if add(rest); strings.ContainsAny(rest, `/\`) {
				complete = false // such as vscode://file/etc and jar:file:/etc
			}
		}
	}
	return forms, complete
}

// paths returns the paths that a server may understand text as, once for each text of a call.
func (e *evaluation) paths(text string) possiblePaths {
	p, ok := e.texts[text]
	if !ok {
		if e.texts == nil {
			e.texts = make(map[string]possiblePaths)
		}
		p.paths, p.complete = e.pathsOf(text)
		e.texts[text] = p
	}
	return p
}

func (e *evaluation) pathsOf(text string) (paths []possiblePath, complete bool) {
	forms, complete := textInterpretations(text)
	for _, f := range forms {
		if strings.ContainsRune(f, 0) {
			complete = false
			continue
		}
		complete = complete && isPlainPath(f) && !hasVariable(f)
		if filepath.IsAbs(f) {
			paths = append(paths, possiblePath{path: f})
			paths = append(paths, e.pathsBelowBases(f)...)
			continue
		}
		if strings.HasPrefix(f, "~") {
			homes, ok := e.server.paths.homeFolders()
			if !ok || f != "~" && f[1] != '/' {
				complete = false
			}
			for _, home := range homes {
				paths = append(paths, possiblePath{path: home + f[1:]})
			}
		}
		bases, ok := e.relativeBases()
		complete = complete && ok
		for _, base := range bases {
			paths = append(paths, possiblePath{base.folder + string(filepath.Separator) + f, base.unlikely})
		}
	}
	return paths, complete
}

// pathsBelowBases returns the paths that a server uses if it joins an absolute path to the folder
// of its files. They count if the folder has an entry with the first name of the path: otherwise
// each path on the machine would be below each folder.
func (e *evaluation) pathsBelowBases(path string) (paths []possiblePath) {
	if !e.server.paths.launched {
		return nil
	}
	rest := strings.TrimLeft(path, `/\`)
	first, _, _ := strings.Cut(rest, "/")
	if first == "" || len(rest) == len(path) {
		return nil
	}
	bases, _ := e.relativeBases()
	for _, base := range bases {
		if e.stat(filepath.Join(base.folder, first)) != nil {
			paths = append(paths, possiblePath{base.folder + string(filepath.Separator) + rest, true})
		}
	}
	return paths
}

// unescape decodes the percent-encoded bytes of text, and keeps a % that begins none.
func unescape(text string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(text, '%')
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:i])
		if decoded, err := url.PathUnescape(text[i:min(i+3, len(text))]); err == nil {
			b.WriteString(decoded)
			text = text[i+3:]
		} else {
			b.WriteByte('%')
			text = text[i+1:]
		}
	}
}

// addFileURL adds the paths that programs read from a file URL: some parse it, others remove the
// prefix, and the query and the fragment count as part of the name or not. It returns false if
// programs may read another path.
func addFileURL(text, rest string, add func(string)) bool {
	add(rest)
	for _, prefix := range []string{"//", "///"} {
		if path, ok := strings.CutPrefix(rest, prefix); ok {
			add(path)
		}
	}
	for _, c := range []byte("#?") {
		if i := strings.IndexByte(text, c); i >= 0 {
			add(text[:i])
		}
	}
	u, err := url.Parse(text)
	if err != nil || u.Host != "" && u.Host != "localhost" || u.Path == "" {
		return false
	}
	add(u.Path)
	return true
}

// webSchemes are the schemes of URLs that never lead to a file on this machine.
var webSchemes = []string{"http", "https", "ws", "wss", "ftp", "ftps", "data", "mailto"}

// splitScheme returns the scheme of a URL in lower case and what follows the colon, or "" if text
// has no scheme. The drive of a path on Windows is not a scheme.
func splitScheme(text string) (scheme, rest string) {
	i := strings.IndexByte(text, ':')
	if i <= 0 || i == 1 && runtime.GOOS == "windows" {
		return "", text
	}
	for j := range i {
		c := text[j] | 0x20
		if isLetter := c >= 'a' && c <= 'z'; !isLetter && (j == 0 || !strings.ContainsRune("0123456789+.-", rune(text[j]))) {
			return "", text
		}
	}
	return strings.ToLower(text[:i]), text[i+1:]
}

// hasVariable reports whether a shell or a library may replace a part of the path by an environment
// variable. Names of files such as src/$id.tsx have none, unless there is a variable with this
// name.
func hasVariable(path string) bool {
	if strings.HasPrefix(path, "$") {
		return true
	}
	for {
		_, after, ok := strings.Cut(path, "$")
		if !ok {
			return false
		}
		path = after
		end := strings.IndexFunc(path, func(c rune) bool {
			return c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
		})
		if end < 0 {
			end = len(path)
		}
		name := path[:end]
		if _, set := os.LookupEnv(name); set || name != strings.ToLower(name) || strings.HasPrefix(name, "_") || path != "" && strings.ContainsRune("{(", rune(path[0])) {
			return true
		}
	}
}

// isPlainPath reports whether the system has no second spelling of the path that the comparison of
// names would miss: on Windows, short names, streams and devices; in Unicode, characters that stand
// for a separator or a dot after normalization.
func isPlainPath(path string) bool {
	if !isASCII(path) && strings.ContainsAny(path, "／＼．‥…∕⁄․﹒。｡\uFFFD") {
		return false
	}
	if runtime.GOOS != "windows" {
		return true
	}
	if strings.ContainsAny(path, "~?*") || strings.HasPrefix(path, `\\`) || strings.HasPrefix(path, "//") || strings.LastIndexByte(path, ':') > 1 {
		return false
	}
	return !slices.ContainsFunc(strings.FieldsFunc(path, func(c rune) bool { return c == '/' || c == '\\' }), func(part string) bool {
		return part != "." && part != ".." && strings.TrimRight(part, ". ") != part
	})
}
