package doctor

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// File is one file of a diagnostic bundle.
type File struct {
	Name  string `json:"name"` // with forward slashes
	Bytes int    `json:"bytes"`
	Text  string `json:"text"`
}

// BundleOptions configures Bundle.
type BundleOptions struct {
	Version string
	Now     time.Time
	Folders config.Folders
	Config  []string // configuration files; missing ones are skipped
	// Documents are written as name.json, such as states and findings.
	Documents map[string]any
	// Secrets are values that are masked wherever they occur.
	Secrets []string
	// Redact redacts what looks like a secret in one line.
	Redact func(string) string
	Home   string              // replaced by ~
	Getenv func(string) string // environment of the servers
}

func (o BundleOptions) getenv(name string) string {
	if o.Getenv == nil {
		return ""
	}
	return o.Getenv(name)
}

// Limits of a bundle. Logs are truncated at the beginning, because the end matters most.
const (
	maxMainLog    = 256 << 10
	maxServerLog  = 64 << 10 // log of a server
	maxServerLogs = 60
)

const bundleNote = `Diagnostic information that Drawbridge collected for a bug report. Nothing was sent anywhere: you decide who gets this file.

Contents: versions, states of servers with their reasons, the findings of "drawbridge doctor", the last lines of the logs, and the
configuration as JSON without comments. Values of env and headers, and everything that is or looks like a secret, are replaced
by [masked] or [redacted]; your home folder is shown as ~. Calls, their arguments and their results are not included. A log may
still contain a value that was in the configuration earlier, does not look like a secret, and was printed by a server at that
time.

Names of servers, tools and programs, and the addresses of remote servers, are included. Review the file before you share it.
`

// Bundle returns the files of a diagnostic bundle, sorted by name. It only reads. Files that
// cannot be read are omitted, and a configuration that cannot be parsed is replaced by the
// error.
func Bundle(o BundleOptions) []File {
	texts := map[string][]byte{"README.txt": []byte(bundleNote)}
	secrets := slices.Clone(o.Secrets)
	masked := func(path string, src []byte) []byte {
		text, values, variables, err := config.Masked(path, src)
		if err != nil {
			return []byte(err.Error() + "\n")
		}
		secrets = append(secrets, values...)
		for _, name := range variables {
			// A server may have printed the value of the variable. A path is not a secret.
			if v := o.getenv(name); !filepath.IsAbs(v) {
				secrets = append(secrets, v)
			}
		}
		return text
	}
	for _, path := range o.Config {
		if src, err := osutil.ReadFile(path); err == nil {
			texts["config/"+filepath.Base(path)+".json"] = masked(path, src)
		}
	}
	if list := o.getenv(config.EnvServers); list != "" {
		texts["config/environment.json"] = masked("environment.json", []byte(list))
	}
	for path, src := range readPreviousConfigFiles(o.Folders) { // logs may contain secrets of former configurations
		masked(path, src)
	}
	for name, document := range o.Documents {
		texts[name+".json"] = formatJSON(document)
	}
	texts["versions.json"] = formatJSON(o.versions())
	addTail(texts, "logs/drawbridge.log", filepath.Join(o.Folders.Logs, "drawbridge.log"), maxMainLog)
	addTail(texts, "logs/last-end.txt", o.Folders.ExitReasonFile(), maxServerLog)
	servers, _ := filepath.Glob(filepath.Join(o.Folders.Logs, "servers", "*.log"))
	for i, path := range servers {
		if i < maxServerLogs {
			addTail(texts, "logs/servers/"+filepath.Base(path), path, maxServerLog)
		}
	}
	masker := redact.Mask(secrets, homeForms(o.Home)...)
	files := make([]File, 0, len(texts))
	for name, text := range texts {
		clean := string(text)
		if name != "README.txt" {
			clean = masker.Replace(clean)
			if o.Redact != nil {
				clean = redactLines(clean, o.Redact)
			}
		}
		files = append(files, File{Name: name, Bytes: len(clean), Text: clean})
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	return files
}

// harmlessLine matches a line of a document whose value cannot be a secret, whatever its name
// is.
var harmlessLine = osutil.LazyRegexp(`^\s*"\w+": (true|false|null|\d{1,5}),?\s*$`)

// redactLines redacts each line separately, so that lines without secrets are preserved.
func redactLines(text string, clean func(string) string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if harmlessLine().MatchString(line) {
			b.WriteString(line)
			continue
		}
		b.WriteString(clean(strings.TrimSuffix(line, "\n")))
		if strings.HasSuffix(line, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// homeForms returns the replacements of the home folder, as in a text and as in JSON.
func homeForms(home string) []string {
	if len(home) < 2 {
		return nil
	}
	quoted, _ := json.Marshal(home)
	return []string{home, "~", string(quoted[1 : len(quoted)-1]), "~"}
}

// versions returns the facts about this machine that matter for a bug report.
func (o BundleOptions) versions() any {
	facts := map[string]string{
		"drawbridge": o.Version, "go": runtime.Version(), "system": runtime.GOOS + "/" + runtime.GOARCH,
		"desktop": o.getenv("XDG_CURRENT_DESKTOP"), "session": o.getenv("XDG_SESSION_TYPE"),
		"made": o.Now.UTC().Format(time.RFC3339),
	}
	for key, path := range map[string]string{"kernel": "/proc/sys/kernel/osrelease", "distribution": "/etc/os-release"} {
		src, err := osutil.ReadFile(path)
		if err != nil {
			continue
		}
		text := strings.TrimSpace(string(src))
		if key == "distribution" {
			_, text, _ = strings.Cut(text, "PRETTY_NAME=")
			text, _, _ = strings.Cut(text, "\n")
			text = strings.Trim(text, `"`)
		}
		facts[key] = text
	}
	return facts
}

func formatJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return []byte("cannot encode this file: " + err.Error() + "\n")
	}
	return b.Bytes()
}

// addTail adds the last complete lines of a file, up to the given number of bytes.
func addTail(texts map[string][]byte, name, path string, most int64) {
	f, err := osutil.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	from := max(0, info.Size()-most)
	text, err := io.ReadAll(io.LimitReader(io.NewSectionReader(f, from, most), most))
	if err != nil || len(text) == 0 {
		return
	}
	if from > 0 {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	texts[name] = text
}

// WriteZip writes the files as a zip archive.
func WriteZip(w io.Writer, files []File, now time.Time) error {
	z := zip.NewWriter(w)
	for _, f := range files {
		part, err := z.CreateHeader(&zip.FileHeader{Name: "drawbridge-diagnostics/" + f.Name, Method: zip.Deflate, Modified: now.UTC()})
		if err != nil {
			return err
		}
		if _, err := io.WriteString(part, f.Text); err != nil {
			return err
		}
	}
	return z.Close()
}

// BundleName returns the file name of an archive that was made at this time.
func BundleName(now time.Time) string {
	return "drawbridge-diagnostics-" + now.Format("20060102-150405") + ".zip"
}

func localBundle(ctx context.Context, folders config.Folders, sources config.Sources, getenv func(string) string) BundleOptions {
	paths, _ := sources.Paths() // a folder that cannot be read adds no files
	admin, _ := loopback.ReadAdminToken(folders.Data)
	home := getenv("HOME")
	if home == "" || runtime.GOOS == "windows" { // where shells such as that of Git set HOME to a path of their own
		home, _ = os.UserHomeDir()
	}
	return BundleOptions{Now: time.Now(), Folders: folders, Config: paths, Home: home, Secrets: []string{admin}, Getenv: process.Lookup(ctx, getenv)}
}
