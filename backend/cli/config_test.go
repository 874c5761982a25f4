package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal/terminaltest"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRestoringSmallerRetentionAsksFirst restores copies with and without a terminal, with a
// daemon that would delete calls, with one that would not, and without a daemon.
func TestRestoringSmallerRetentionAsksFirst(t *testing.T) {
	const wide, narrow = `{"history":{"keepDays":30}}`, `{"history":{"keepDays":7}}`
	const counted, plain = "3 of 9 calls, made between 2026-01-0", "permanently delete older calls"
	for _, c := range []struct {
		name     string
		was      string // "": the file does not exist
		copy     string
		daemon   string // behavior: "", "counts", "fails"
		gone     int
		attended bool
		args     []string
		answer   string
		asked    string // substring of the question
		put      bool
	}{
		{name: "no", was: wide, copy: narrow, daemon: "counts", gone: 3, attended: true, answer: "n\n", asked: counted},
		{name: "the end of what is typed", was: wide, copy: narrow, daemon: "counts", gone: 3, attended: true, asked: counted},
		{name: "yes", was: wide, copy: narrow, daemon: "counts", gone: 3, attended: true, answer: "y\n", asked: counted, put: true},
		{name: "nothing goes", was: wide, copy: narrow, daemon: "counts", attended: true, put: true},
		{name: "it keeps as much", was: narrow, copy: narrow, daemon: "counts", gone: 3, attended: true, put: true},
		{name: "it keeps more", was: narrow, copy: wide, daemon: "counts", gone: 3, attended: true, put: true},
		{name: "a daemon that cannot count", was: wide, copy: narrow, daemon: "fails", attended: true, asked: plain},
		{name: "no daemon", was: wide, copy: narrow, attended: true, answer: "no\n", asked: plain},
		{name: "no daemon and yes", was: wide, copy: narrow, attended: true, answer: "yes\n", asked: plain, put: true},
		{name: "no file, and the copy keeps less than is usual", copy: narrow, attended: true, asked: plain},
		{name: "no file, and the copy keeps what is usual", copy: "{}", attended: true, put: true},
		{name: "a file that is broken may have kept all", was: "{", copy: wide, attended: true, asked: plain},
		{name: "--yes", was: wide, copy: narrow, daemon: "counts", gone: 3, attended: true, args: []string{"--yes"}, put: true},
		{name: "--json", was: wide, copy: narrow, daemon: "counts", gone: 3, attended: true, args: []string{"--json"}, put: true},
		{name: "a script", was: wide, copy: narrow, daemon: "counts", gone: 3, put: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			data, used := t.TempDir(), "" // what the daemon was told to use
			if c.daemon != "" {
				f := newFakeDaemon(t)
				data = f.Data
				f.Mux.HandleFunc("POST /api/v1/config/reload", func(http.ResponseWriter, *http.Request) {
					now, _ := os.ReadFile(filepath.Join(data, "config.jsonc"))
					used = string(now)
				})
				f.Mux.HandleFunc("POST /api/v1/config/retention-preview", func(w http.ResponseWriter, r *http.Request) {
					var in struct{ Text string }
					assert.NoError(t, json.NewDecoder(r.Body).Decode(&in))
					assert.Equal(t, c.copy, in.Text)
					if c.daemon == "fails" {
						w.WriteHeader(http.StatusInternalServerError)
						return
					}
					fmt.Fprintf(w, `{"calls":%d,"total":9,"estimated":false,"from":"2026-01-02T03:04:05Z","to":"2026-01-03T03:04:05Z"}`, c.gone)
				})
			}
			file, from := filepath.Join(data, "config.jsonc"), filepath.Join(t.TempDir(), "kept.jsonc")
			if c.was != "" {
				require.NoError(t, os.WriteFile(file, []byte(c.was), 0o600))
			}
			require.NoError(t, os.WriteFile(from, []byte(c.copy), 0o600))
			got := runMain(t.Context(), data, answering(c.answer, c.attended), append([]string{"backup", "restore", from}, c.args...)...)
			asked := strings.Contains(got.Out, "[y/N]")
			assert.Truef(t, asked == (c.asked != "") && strings.Contains(got.Out, c.asked), "said %q, wanted to be asked %q", got.Out, c.asked)
			now, _ := os.ReadFile(file)
			copies, _ := config.BackupsOf(data).List()
			assert.Falsef(t, c.put && (got.Code != 0 || string(now) != c.copy), "exit %d, the file is %q: %s", got.Code, now, got.Err)
			assert.Falsef(t, c.put && c.daemon != "" && used != c.copy, "the daemon uses %q", used)
			if !c.put && (got.Code != 1 || string(now) != c.was || len(copies) > 0 || !strings.Contains(got.Err, "nothing was changed")) {
				t.Errorf("exit %d, the file is %q, with %d copies: %s", got.Code, now, len(copies), got.Err)
			}
		})
	}
}

// TestRestoreKeepsEditMadeSinceItsBackup edits the file when the command has made its backup and
// waits for the lock of the file.
func TestRestoreKeepsEditMadeSinceItsBackup(t *testing.T) {
	const before, edited, restored = `{"history":{"keepDays":30}}`, `{"history":{"keepDays":31}}`, `{"history":{"keepDays":60}}`
	data := t.TempDir()
	file, from := filepath.Join(data, "config.jsonc"), filepath.Join(t.TempDir(), "kept.jsonc")
	require.NoError(t, os.WriteFile(file, []byte(before), 0o600))
	require.NoError(t, os.WriteFile(from, []byte(restored), 0o600))
	unlock, err := osutil.LockBeside(t.Context(), file)
	require.NoError(t, err)
	defer unlock()
	ended := make(chan terminaltest.Result)
	go func() { ended <- runMain(t.Context(), data, answering("", false), "backup", "restore", from) }()
	copies := config.BackupsOf(data)
	eventually.True(t, "backup", func() bool { all, _ := copies.List(); return len(all) == 1 })
	require.NoError(t, os.WriteFile(file, []byte(edited), 0o600))
	unlock()
	got := <-ended
	now, _ := os.ReadFile(file)
	if got.Code != 1 || string(now) != edited || !strings.Contains(got.Err, "another program changed the file") {
		t.Errorf("exit %d, the file is %q: %s", got.Code, now, got.Err)
	}
	assert.Equal(t, 0, runMain(t.Context(), data, answering("", false), "backup", "restore", from).Code, "the second time")
	if now, _ := os.ReadFile(file); string(now) != restored {
		t.Errorf("the file is %q", now)
	}
}

func TestRestoreOfMissingBackupIsNotFound(t *testing.T) {
	got := runMain(t.Context(), t.TempDir(), answering("", false), "backup", "restore", "/nowhere.jsonc", "--json")
	assert.Truef(t, got.Code == 1 && strings.Contains(got.Err, `"status":404`) && strings.Contains(got.Err, "The backups are in "), "%+v", got)
}

// validate --apply applies exactly the change that the daemon reports.
func TestHeldBackConfigIsAppliedByCommand(t *testing.T) {
	f := newFakeDaemon(t)
	held, confirmed, file := "", []string{}, filepath.Join(f.Data, "config.jsonc")
	require.NoError(t, os.WriteFile(file, []byte("{}"), 0o600))
	f.Mux.HandleFunc("GET /api/v1/status", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"problems":[{"message":"m","file":%q,"held":%q}]}`, file, held)
	})
	f.Mux.HandleFunc("POST /api/v1/config/reload", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Confirm string }
		require.NoError(t, json.NewDecoder(r.Body).Decode(&in))
		if confirmed = append(confirmed, in.Confirm); held != in.Confirm {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"code":"rejected","detail":"held back"}`)
		}
	})
	got := f.Run(false, "validate", "--apply")
	assert.Truef(t, got.Code == 0 && got.Out == "No change is held back.\n", "%+v", got)
	for _, held = range []string{"", "17"} {
		if got := f.Run(false, "validate"); got.Code != 0 || strings.Contains(got.Out, "It is not in use: m") != (held != "") {
			t.Errorf("held %q: %+v", held, got)
		}
	}
	if got := f.Run(false, "validate", "--apply"); got.Code != 0 || got.Out != "The changed configuration is in use.\n" || strings.Join(confirmed[len(confirmed)-2:], ",") != ",17" {
		t.Errorf("%+v, confirmed %q", got, confirmed)
	}
}

func TestServerIsRemoved(t *testing.T) {
	f := newFakeDaemon(t)
	var removed string
	f.Mux.HandleFunc("DELETE /api/v1/servers/{id}", func(w http.ResponseWriter, r *http.Request) {
		removed = r.PathValue("id")
		w.WriteHeader(http.StatusNoContent)
	})
	assert.Equal(t, 2, f.Run(false, "remove").Code)
	got := f.Run(false, "remove", "files", "--yes")
	assert.Truef(t, got.Code == 0 && got.Out == "files: removed\n" && removed == "files", "%+v", got)
	f.Answer("GET /api/v1/servers/{id}", `{"id":"files"}`)
	f.Answer("GET /api/v1/secrets", `{"items":[{"name":"files.TOKEN","servers":["files"]},{"name":"shared","servers":["docs","files"]},{"name":"old","servers":[]}]}`)
	deleted := ""
	f.Mux.HandleFunc("DELETE /api/v1/secrets/{name}", func(w http.ResponseWriter, r *http.Request) {
		deleted += r.PathValue("name")
		w.WriteHeader(http.StatusNoContent)
	})
	for _, c := range []struct {
		attended        bool
		answer, deleted string
	}{{false, "", "files.TOKEN"}, {true, "y\n", "files.TOKEN"}, {true, "n\n", ""}} {
		deleted = ""
		got := runMain(t.Context(), f.Data, answering(c.answer, c.attended), "remove", "files")
		if got.Code != 0 || deleted != c.deleted || !strings.Contains(got.Out, "files: removed") || strings.Contains(got.Out, "(files.TOKEN)? They cannot be restored.") != c.attended {
			t.Errorf("%+v: deleted %q, %+v", c, deleted, got)
		}
	}
	got = f.Run(false, "remove", "files", "--json")
	assert.Truef(t, json.Valid([]byte(got.Out)), "%+v", got)
	home := t.TempDir()
	t.Setenv("HOME", home)
	atHome := func(o *Options) { o.Getenv = func(name string) string { return map[string]string{"HOME": home}[name] } }
	require.Equal(t, 0, runMain(t.Context(), f.Data, atHome, "clients", "connect", "cursor", "--server", "files", "--yes").Code)
	if got := runMain(t.Context(), f.Data, atHome, "remove", "files"); got.Code != 0 || !strings.Contains(got.Err, `names the server "files", which does not exist. Undo the entry with: drawbridge clients undo cursor files`) {
		t.Errorf("%+v", got)
	}
}
