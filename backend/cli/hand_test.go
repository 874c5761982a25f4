package cli

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

func TestTableFitsTerminalWidth(t *testing.T) {
	one := table{title: "Clients", head: []string{"ID", "Client", "State", "File"}}
	one.add("windsurf", "Windsurf (Cascade, before the rename)", "not connected", "/home/ana/.codeium/windsurf/mcp_config.json")
	one.add("x", "X", "connected", "/x")
	widths := []int{8, 37, 13, 43}
	one.shrinkToFit(widths, 80)
	total := 2 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	if text := strings.Join(one.rows[0], " "); total != 80 || !strings.Contains(text, "windsurf") || !strings.Contains(text, "not connected") || !strings.Contains(text, "/home/a") {
		t.Errorf("%d columns: %s", total, text)
	}
	untouched := []int{8, 37, 13, 43}
	one.shrinkToFit(untouched, 0)
	if untouched[3] != 43 {
		t.Error("a table that is piped was shortened")
	}
}

func TestMissingClientsAreCounted(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("PATH", t.TempDir())
	f := newFake(t)
	got := f.run(true, "clients")
	if got.code != 0 || strings.Contains(got.out, "not installed") || !strings.Contains(got.out, "drawbridge clients --all") {
		t.Errorf("%+v", got)
	}
	if got = f.run(true, "clients", "--all"); strings.Count(got.out, "not installed") < 50 {
		t.Errorf("%+v", got)
	}
}

func TestCallResultIsPrintedOnce(t *testing.T) {
	f := newFake(t)
	f.answer("POST /api/v1/call", `{"success":true,"output":"notes.txt\n","data":{"content":"notes.txt"},"raw":{}}`)
	if got := f.run(false, "call", "files", "list"); got.out != "notes.txt\n" {
		t.Errorf("%+v", got)
	}
}

func TestNoticesAreAcknowledged(t *testing.T) {
	f := newFake(t)
	f.answer("GET /api/v1/status", `{"notices":[{"subject":"command:a b","message":"Server \"a b\" is running a new command."},{"subject":"vault","message":"No keyring."}]}`)
	var gone []string
	f.mux.HandleFunc("DELETE /api/v1/notices/{subject}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("subject") == "vault" {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(404)
			io.WriteString(w, `{"code":"not_found","detail":"it lasts"}`)
			return
		}
		gone = append(gone, r.PathValue("subject"))
		w.WriteHeader(http.StatusNoContent)
	})
	if got := f.run(true, "status", "--ack"); got.code != 0 || strings.Join(gone, ",") != "command:a b" || !strings.Contains(got.out, "Acknowledged 1 notice; 1 cannot be") {
		t.Errorf("%+v, %v", got, gone)
	}
}

func TestClientNameIsCaseInsensitive(t *testing.T) {
	f := newFake(t)
	f.answer("GET /api/v1/clients", `{"items":[{"token":"codex","name":"codex-mcp-client"},{"token":"","name":"Cursor"}]}`)
	var asked string
	f.mux.HandleFunc("GET /api/v1/calls", func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Query().Get("client")
		io.WriteString(w, `{"items":[]}`)
	})
	for text, want := range map[string]string{"Codex": "codex", "cursor": "Cursor", "codex": "codex", "gone": "gone"} {
		if got := f.run(true, "history", "--client", text); got.code != 0 || asked != want || got.out != "No calls match.\n" {
			t.Errorf("%s: %+v, asked for %q", text, got, asked)
		}
	}
	if got := f.run(true, "history", "stats"); got.code != 2 || !strings.Contains(got.errOut, "is not a call id") {
		t.Errorf("%+v", got)
	}
}

func TestCallReportsResultNotMatchingSchema(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.answer("GET /api/v1/calls/7", `{"id":"7","server":"demo","tool":"add","outcome":"ok","invalid":"sum must be\nnumber","invalidAs":"error","result":"{}"}`)
	if got := f.run(true, "history", "7"); got.code != 0 || !strings.Contains(got.out, "\ninvalid: the result does not match the tool's outputSchema: sum must be number\n") {
		t.Errorf("%+v", got)
	}
}

// TestApprovalsAreAnsweredAsTheyArrive uses one call that is pending at the start, and one that
// arrives while the first is answered.
func TestApprovalsAreAnsweredAsTheyArrive(t *testing.T) {
	f := newFake(t)
	var answered atomic.Int32
	said := make(chan string, 2)
	f.mux.HandleFunc("GET /api/v1/events", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "event: snapshot\ndata: {}\n\n")
		w.(http.Flusher).Flush()
		select {
		case one := <-said:
			said <- one
		case <-r.Context().Done():
		}
		io.WriteString(w, "event: approval\ndata: {}\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	f.mux.HandleFunc("GET /api/v1/approvals", func(w http.ResponseWriter, _ *http.Request) {
		if answered.Load() == 0 {
			io.WriteString(w, `{"items":[{"id":"a1","kind":"call","server":"files","tool":"rm","arguments":"{}","client":{"token":"cursor"}}]}`)
			return
		}
		io.WriteString(w, `{"items":[{"id":"b2","kind":"call","server":"files","tool":"mv","arguments":"{}","client":{"token":"cursor"}}]}`)
	})
	f.mux.HandleFunc("POST /api/v1/approvals/{id}", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		answered.Add(1)
		said <- r.PathValue("id") + string(body)
		w.WriteHeader(http.StatusNoContent)
	})
	got := f.typed("y\nn\n", "approvals", "--wait")
	if got.code != 0 || !strings.Contains(got.out, "files by cursor asks to call rm {}\n  Allow? [y/N]   Allowed.") || answered.Load() < 1 {
		t.Errorf("%+v", got)
	}
	if one := <-said; !strings.HasPrefix(one, "a1") || !strings.Contains(one, `"accept"`) {
		t.Error(one)
	}
}

func TestOnlyApprovalEventsRefreshPrompt(t *testing.T) {
	t.Parallel()
	for event, want := range map[string]int{"snapshot": 1, "approval": 1, "call": 0, "server": 0} {
		changed := make(chan struct{}, 1)
		signalApprovals(strings.NewReader("event: "+event+"\ndata: {}\n\n"), changed)
		if len(changed) != want {
			t.Errorf("%s: %d", event, len(changed))
		}
	}
}

func TestWaitForServersHasExitCode(t *testing.T) {
	f := newFake(t)
	var looks atomic.Int32
	f.mux.HandleFunc("GET /api/v1/servers", func(w http.ResponseWriter, _ *http.Request) {
		state := "starting"
		if looks.Add(1) > 2 {
			state = "running"
		}
		io.WriteString(w, `{"items":[{"id":"my-files","label":"my files","state":"`+state+`","tools":2},{"id":"off","label":"off","state":"disabled"}]}`)
	})
	f.answer("GET /api/v1/tools", `{"items":[{"server":"my-files","tool":"read"},{"server":"my-files","tool":"rm"}]}`)
	f.mux.HandleFunc("GET /api/v1/explain", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"passes":`+map[bool]string{true: "true", false: "false"}[r.URL.Query().Get("tool") == "read"]+`,"checks":[]}`)
	})
	if got := f.run(false, "explain", "--all"); got.code != 1 || !strings.Contains(got.out, "my files (my-files)  no") {
		t.Errorf("%+v", got)
	}
	got := f.run(false, "explain", "--all", "--wait", "--json")
	if want := `{"items":[{"server":"my-files","label":"my files","state":"running","ready":true,"reason":"","tools":2,"refused":["rm"]},{"server":"off","label":"off","state":"disabled","ready":false,"reason":"","tools":0,"refused":[]}],"next":"","ready":true}` + "\n"; got.code != 0 || got.out != want {
		t.Errorf("%+v", got)
	}
	for _, args := range [][]string{{"explain"}, {"explain", "x"}, {"explain", "--all", "x", "y"}, {"explain", "x", "y", "--wait"}} {
		if got := f.run(false, args...); got.code != 2 {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

// TestProfileNeedsExistingServers checks that servers are accepted by their display name and that
// unknown ones are rejected.
func TestProfileNeedsExistingServers(t *testing.T) {
	f := newFake(t)
	f.mux.HandleFunc("GET /api/v1/servers/{id}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("id") == "my files" {
			io.WriteString(w, `{"id":"my-files","label":"my files"}`)
			return
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(404)
		io.WriteString(w, `{"code":"not_found","detail":"there is no such server"}`)
	})
	said := make(chan string, 2)
	hear := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		said <- string(body)
		io.WriteString(w, `{}`)
	}
	f.mux.HandleFunc("PUT /api/v1/profiles/{name}", hear)
	f.mux.HandleFunc("PUT /api/v1/client-views/{token}", hear)
	if got := f.run(false, "profiles", "set", "work", "nosuch"); got.code != 1 || !strings.Contains(got.errOut, `there is no server named "nosuch"`) {
		t.Errorf("%+v", got)
	}
	if got := f.run(false, "profiles", "set", "work", "my files:read"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if one := <-said; one != `{"entry":{"servers":{"my-files":{"includeTools":["read"]}}}}` {
		t.Error(one)
	}
	if got := f.run(false, "profiles", "use", "cursor", "office"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if one := <-said; one != `{"profile":"office","toolMode":""}` {
		t.Error(one)
	}
	if got := f.run(false, "profiles", "use", "cursor", "office", "--profile", "work"); got.code != 2 {
		t.Errorf("%+v", got)
	}
}
