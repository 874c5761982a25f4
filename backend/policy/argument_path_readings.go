package policy

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"

	"golang.org/x/text/unicode/norm"
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

const (
	// trimmed are the characters that a language trims: those with the property White_Space (Go,
	// Rust, C#), control characters (Java, Python), the byte order mark (JavaScript), and U+180E and
	// U+200B (old versions of JavaScript, Java and C#).
	trimmed = `[\x00- \x{85}\p{Z}\x{feff}\x{180e}\x{200b}]`
	// A list of paths is separated by these, or by white space before something that begins like a
	// path. Many names contain a comma: what follows it must begin or look like a path.
	listSeparators = `,;|\n\v\f\r\x1c-\x1e\x{85}\x{2028}\x{2029}`
)

// pathReading is a way in which programs read a text before they use it as a path: pattern is
// replaced.
type pathReading struct {
	pattern     func() *regexp.Regexp
	replacement string
}

// pathReadings are each also applied to what the others return.
var pathReadings = func() (list []pathReading) {
	colon := strings.Trim(string(filepath.ListSeparator), ";") // on Windows, it follows a drive
	for _, r := range [][2]string{
		{`^` + trimmed, ""}, // one at a time leaves what each language leaves
		{trimmed + `$`, ""},
		{`[\t\n\r]`, ""}, // as URL parsers read it
		{`\\`, "/"},
		{`^<(.*?)>?$`, "$1"}, // as in <file:///…>
		{"^[\"'`]+|[\"'`]+$", ""},
		{`^@`, ""},                // the name of a file, as in @file
		{`^[^/\\=]*=`, ""},        // the value of an option, as in --file=path
		{`^-.(.+)`, "$1"},         // as in -fpath
		{`\+`, " "},               // form-decoded
		{`^([^#?]+)[#?].*`, "$1"}, // without a fragment or a query
		{`^(?i:file):`, ""},
		{`^(?i:file)://`, ""},
		{`^(?i:file)://(?:localhost)?/`, "/"},
		{`^(.+)(?:[` + listSeparators + colon + `]|[ \t]+["']*(?:/|~/|\.\.?/)).*`, "$1"},                                                  // a list without its last entry
		{`^.*?(?:[` + listSeparators + `]([\s"']*[.~].*|.*[/\\].*)|[ \t` + colon + `]([\s"']*(?:/(?:[^/].*|$)|~/.*|\.\.?/.*)))$`, "$1$2"}, // without its first
	} {
		list = append(list, pathReading{osutil.LazyRegexp(`(?s)` + r[0]), r[1]})
	}
	return list
}()

var (
	// unusual is what makes a text different in one of pathReadings, or a URL.
	unusual  = osutil.LazyRegexp(`^-|[^\w/.-]`)
	scheme   = osutil.LazyRegexp(`(?s)^([A-Za-z][A-Za-z0-9+.-]*):(.*)`)
	fileURL  = osutil.LazyRegexp(`^(?i:file):(?:/(?:[^/]|$)|//(?i:localhost)?/)`) // without another host
	variable = osutil.LazyRegexp(`\$([{(]?)(\w*)`)
)

// webSchemes are the schemes of URLs that never lead to a file on this machine.
var webSchemes = []string{"http", "https", "ws", "wss", "ftp", "ftps", "data", "mailto"}

// textReadings returns the texts that a server may understand text as, text first.
func textReadings(text string) (forms []string, complete bool) {
	forms, complete = []string{text}, true
	add := func(form string) {
		if slices.Contains(forms, form) {
			return
		}
		if len(forms) < maxPathForms {
			forms = append(forms, form)
		} else {
			complete = false
		}
	}
	for i := 0; i < len(forms); i++ {
		f := forms[i]
		if !unusual().MatchString(f) {
			continue
		}
		for _, r := range pathReadings {
			add(r.pattern().ReplaceAllString(f, r.replacement))
		}
		for _, read := range []func(string) string{unescape, norm.NFC.String, norm.NFD.String, norm.NFKC.String} {
			add(read(f))
		}
		m := scheme().FindStringSubmatch(f)
		if m == nil || slices.Contains(webSchemes, strings.ToLower(m[1])) || len(m[1]) == 1 && runtime.GOOS == "windows" { // a drive
			continue
		}
		if strings.EqualFold(m[1], "file") {
			complete = complete && fileURL().MatchString(f)
		} else if add(m[2]); strings.ContainsAny(m[2], `/\`) {
			complete = false // such as vscode://file/etc and jar:file:/etc
		}
	}
	return forms, complete
}

// unescape decodes the percent-encoded bytes of text, and keeps a % that begins none.
func unescape(text string) string {
	return percentEncoded().ReplaceAllStringFunc(text, func(s string) string {
		decoded, _ := url.PathUnescape(s) // the pattern lets nothing else pass
		return decoded
	})
}

var percentEncoded = osutil.LazyRegexp(`%[0-9A-Fa-f]{2}`)

// paths returns the paths that a server may understand text as, once for each text of a call.
func (e *evaluation) paths(text string) possiblePaths {
	p, ok := e.texts[text]
	if !ok {
		if e.texts == nil {
			e.texts = make(map[string]possiblePaths)
		}
		p = e.pathsOf(text)
		e.texts[text] = p
	}
	return p
}

func (e *evaluation) pathsOf(text string) (all possiblePaths) {
	forms, complete := textReadings(text)
	for _, f := range forms {
		if strings.ContainsRune(f, 0) {
			complete = false
			continue
		}
		complete = complete && isPlainPath(f) && !hasVariable(f)
		bases, known := e.relativeBases()
		switch rest := strings.TrimLeft(f, `/\`); {
		case filepath.IsAbs(f):
			all.paths = append(all.paths, possiblePath{path: f})
			// Some servers join it to the folder of their files. That counts if the folder has an entry
			// with the first name: otherwise each path on the machine would be below each folder.
			first, _, _ := strings.Cut(rest, "/")
			for _, base := range bases {
				if first != "" && rest != f && e.server.paths.launched && e.stat(filepath.Join(base.folder, first)) != nil {
					all.paths = append(all.paths, possiblePath{base.folder + separator + rest, true})
				}
			}
			continue
		case strings.HasPrefix(f, "~"):
			homes, ok := e.server.paths.homeFolders()
			complete = complete && ok && (f == "~" || f[1] == '/')
			for _, home := range homes {
				all.paths = append(all.paths, possiblePath{path: home + f[1:]})
			}
		}
		complete = complete && known
		for _, base := range bases {
			all.paths = append(all.paths, possiblePath{base.folder + separator + f, base.unlikely})
		}
	}
	for _, p := range all.paths {
		if wildcardAt(p.path) < 0 || !e.server.paths.launched {
			continue
		}
		var found []string
		complete = e.expand("", p.path, &found) && complete
		for _, f := range found {
			all.paths = append(all.paths, possiblePath{f, p.unlikely})
		}
	}
	all.complete = complete
	return all
}

// hasVariable reports whether a shell or a library may replace a part of the path by an environment
// variable. Names of files such as src/$id.tsx have none, unless there is a variable with this
// name.
func hasVariable(path string) bool {
	if runtime.GOOS == "windows" && slices.ContainsFunc(strings.Split(path, "%"), func(name string) bool { _, set := os.LookupEnv(name); return name != "" && set }) {
		return true // %NAME%
	}
	return strings.HasPrefix(path, "$") || slices.ContainsFunc(variable().FindAllStringSubmatch(path, -1), func(m []string) bool {
		_, set := os.LookupEnv(m[2])
		return set || m[1] != "" || m[2] != strings.ToLower(m[2]) || strings.HasPrefix(m[2], "_")
	})
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
