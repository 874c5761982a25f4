package profiles

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// suggestionSite is a site with 214 tools of 8 servers, a configuration file and its reloader.
func suggestionSite(t *testing.T) *site {
	servers := map[string]any{}
	for i := range 8 {
		servers[fmt.Sprintf("server%d", i)] = map[string]any{"command": "x"}
	}
	raw, _ := json.Marshal(map[string]any{"mcpServers": servers, "profiles": map[string]any{"shop": map[string]any{}}})
	file := filepath.Join(t.TempDir(), "config.jsonc")
	must(t, os.WriteFile(file, raw, 0o600))
	files := config.NewReloader(config.ReloaderOptions{Sources: config.Sources{DefaultFile: file}})
	files.Load()
	s := newSite(t, files)
	history, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "history.db")})
	must(t, err)
	s.feature.Store, s.recorder = history, history.Recorder()
	done, recorded, running := make(chan error, 1), make(chan error, 1), make(chan struct{})
	first := sync.OnceFunc(func() { close(running) })
	ctx, cancel := context.WithCancel(context.Background())
	go func() { recorded <- s.recorder.Run(ctx) }()
	go func() {
		done <- files.Run(ctx, func(c *config.Config) { s.views.SetProfiles(c.Profiles); first() })
	}()
	t.Cleanup(func() { cancel(); <-done; <-recorded; must(t, history.Close()) })
	<-running // later edits are applied
	for i := range 8 {
		var catalog core.Catalog
		for j := range (214 + 7 - i) / 8 {
			name := fmt.Sprintf("tool%d", j)
			catalog.Tools = append(catalog.Tools, core.Item{Name: name, Raw: fmt.Appendf(nil, `{"name":%q,"description":%q,"inputSchema":{"type":"object"}}`, name, strings.Repeat("what it does ", 60))})
		}
		s.views.Set(fmt.Sprintf("server%d", i), fmt.Sprintf("server%d", i), &catalog)
	}
	if n := len(s.views.All().Items(core.Tools)); n != 214 {
		t.Fatalf("%d tools", n)
	}
	return s
}

// recordMonth records a month of calls: on working days, some tools much more often than others.
func recordMonth(t *testing.T, s *site, folders map[string][]string, seldom string) {
	r := rand.New(rand.NewPCG(30, 9))
	id := int64(0)
	record := func(at time.Time, folder, server, method, name string) {
		id = max(id+1, at.UnixMicro())
		s.recorder.Record(&core.Call{ID: id, At: at.UTC(), Client: core.Client{Token: "cursor", Name: "Cursor", Version: "1"}, Session: fmt.Sprint(at.YearDay()),
			Workspace: folder, Server: server, Method: method, Name: name, PublicName: server + "__" + name, Outcome: core.OutcomeOK, Took: time.Duration(r.IntN(1e8)), Attempts: 1},
			core.Reply{Result: []byte(`{"content":[]}`)})
	}
	now := time.Now()
	for day := 28; day > 0; day-- {
		at := now.AddDate(0, 0, -day)
		if at.Weekday() == time.Saturday || at.Weekday() == time.Sunday {
			continue
		}
		for _, folder := range slices.Sorted(func(yield func(string) bool) {
			for f := range folders {
				if !yield(f) {
					return
				}
			}
		}) {
			tools := folders[folder]
			for n := range 60 {
				pick := tools[min(int(r.ExpFloat64()*2), len(tools)-1)]
				if n < len(tools) && day > 20 {
					pick = tools[n] // each is used
				}
				server, name, _ := strings.Cut(pick, ".")
				method := "tools/call"
				if strings.HasPrefix(name, "file:") {
					method = "resources/read"
				}
				record(at.Add(time.Duration(n)*time.Minute), folder, server, method, name)
			}
		}
		s.recorder.Flush(t.Context()) // the queue is bounded
	}
	record(now.Add(-time.Hour), seldom, "server1", "tools/call", "tool1")
	s.recorder.Flush(t.Context())
}

// A month of calls suggests a profile with what was used. Making it limits the folder to these
// tools, and removing it makes the suggestion appear again; a dismissed one does not.
func TestMonthOfUseSuggestsProfileOfFolder(t *testing.T) {
	s := suggestionSite(t)
	home, err := os.UserHomeDir()
	must(t, err)
	work := t.TempDir()
	folder := func(name string) string { return filepath.Join(work, filepath.FromSlash(name)) }
	root := filepath.VolumeName(work) + string(filepath.Separator)
	shop := []string{"server0.tool1", "server0.tool2", "server0.tool3", "server3.tool0", "server3.tool9", "server5.tool7", "server5.tool8", "server6.file:///a"}
	recordMonth(t, s, map[string][]string{folder("shop"): shop, folder("shop/docs"): {"server1.tool4", "server1.tool5"}, home: {"server2.tool2"}, root: {"server2.tool2"}}, folder("seldom"))
	suggested := func(query string) []ProfileSuggestion {
		var list ProfileSuggestions
		s.Get(t, "/api/v1/profile-suggestions"+query, &list)
		return list.Items
	}
	folders := func(list []ProfileSuggestion) (out []string) {
		for _, one := range list {
			out = append(out, one.Folder)
		}
		return out
	}
	list := suggested("")
	if got := folders(list); !slices.Equal(got, []string{folder("shop/docs"), folder("shop")}) {
		t.Fatalf("profiles are suggested for %q", got)
	}
	one := list[1]
	if len(one.Tools) != 9 || one.AllTools != 214 || one.Name != "shop-2" || one.Saved < 40_000 || one.Profile != "" || one.Calls < 500 {
		t.Errorf("%+v", one)
	}
	t.Logf("%d of %d tools, %d calls, %d tokens, %d less", len(one.Tools), one.AllTools, one.Calls, one.Tokens, one.Saved)

	body, _ := json.Marshal(map[string]any{"entry": one.Entry})
	status, said := s.Ask("PUT", "/api/v1/profiles/"+one.Name, string(body), "If-Match", "new")
	var made Profile
	if err := json.Unmarshal([]byte(said), &made); status != http.StatusOK || err != nil || made.Tools != 9 || made.Tokens.All != one.Tokens {
		t.Fatal(status, said, err)
	}
	if got := s.feature.Config.Current().ProfileOf(folder("shop/docs/x")); got != "shop-2" {
		t.Errorf("the folder uses the profile %q", got)
	}
	view, _ := s.views.Profile("shop-2", 0)
	var names []string
	for _, item := range view.Items(core.Tools) {
		names = append(names, item.Server+"."+item.Name)
	}
	slices.Sort(names)
	if want := append(slices.Clone(shop[:7]), "server1.tool4", "server1.tool5"); !slices.Equal(names, slices.Sorted(slices.Values(want))) {
		t.Errorf("the profile offers %q", names)
	}
	if got := suggested(""); len(got) != 0 {
		t.Errorf("a folder with a profile is suggested another one: %q", folders(got))
	}
	if status, said := s.Ask("DELETE", "/api/v1/profiles/"+one.Name, "", "If-Match", made.ETag); status != http.StatusNoContent {
		t.Fatal(status, said)
	}
	if got := suggested(""); len(got) != 2 {
		t.Errorf("after removing it, profiles are suggested for %q", folders(got))
	}

	dismiss := func(folder string, dismissed bool) {
		body, _ := json.Marshal(map[string]any{"folder": folder, "dismissed": dismissed})
		s.Want(t, "PUT", "/api/v1/profile-suggestions/dismissed", string(body), http.StatusNoContent, "")
	}
	dismiss(folder("shop"), true)
	if got := folders(suggested("?days=60")); !slices.Equal(got, []string{folder("shop/docs")}) {
		t.Errorf("after dismissing one: %q", got)
	}
	if got := suggested("?folder=" + url.QueryEscape(folder("shop")+string(filepath.Separator))); len(got) != 1 || len(got[0].Tools) != 9 {
		t.Errorf("asked for by its name: %+v", got)
	}
	if got := suggested("?folder=" + url.QueryEscape(folder("seldom"))); len(got) != 1 || len(got[0].Tools) != 1 {
		t.Errorf("a folder with one call, asked for by its name: %+v", got)
	}
	dismiss(folder("shop"), false)
	if got := suggested(""); len(got) != 2 {
		t.Errorf("allowed again: %q", folders(got))
	}
	if status, _ := s.Ask("GET", "/api/v1/profile-suggestions?folder=shop", ""); status != http.StatusBadRequest && status != http.StatusUnprocessableEntity {
		t.Errorf("a relative folder: %d", status)
	}
}
