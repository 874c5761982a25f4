//go:build e2e

package e2e

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Servers, clients and a configuration that mean harm, with the real daemon between them
// and the page: 200 strings in every field, words of 1 MB, 2,000 tools. No script runs, the
// page's policy reports nothing, nobody else is asked for anything, and the page works on.
func TestNothingThatAServerSaysHasItsWayInThePage(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skipf("no browser: %v", err)
	}
	var corpus []string
	if err := json.Unmarshal([]byte(run(t, command(t, nil, node, "--input-type=module", "-e",
		"import { corpus } from '"+abs("../../frontend/e2e/corpus.mjs")+"'; console.log(JSON.stringify(corpus))"), 0)), &corpus); err != nil {
		t.Fatal(err)
	}
	hostile := abs("clients/hostile-server.mjs")
	servers := object{
		"evil":  object{"command": node, "args": []string{hostile}, "env": object{"OFFSET": "5"}, "debug": true},
		"large": object{"command": node, "args": []string{hostile}, "env": object{"LARGE": "1"}},
		"more":  object{"command": node, "args": []string{hostile}, "env": object{"LARGE": "1"}},
	}
	for i, word := range corpus {
		next := func(n int) string { return corpus[(i+n)%len(corpus)] }
		servers[word] = object{"command": next(1), "args": []string{next(2), next(3)}, "cwd": next(4), "env": object{next(5): next(6)}, "enabled": false, next(7): next(8)}
	}
	d := start(t, object{"mcpServers": servers})
	d.running("evil", "large", "more")
	order, err := json.Marshal(object{
		"link": strings.TrimSpace(d.cli(0, "open", "--print")), "url": d.url, "admin": d.admin, "token": d.token("life"), "chromium": browser, "output": output,
		"patience": limit(15 * time.Second).Milliseconds(),
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(t, []string{"HOME=" + t.TempDir()}, node, abs("clients/page-hostile.mjs"))
	cmd.Stdin = strings.NewReader(string(order))
	var found struct {
		Done, Violations, Errors []string
		Looks                    int
	}
	if err := json.Unmarshal([]byte(run(t, cmd, 0)), &found); err != nil {
		t.Fatal(err)
	}
	if len(found.Done) < 8 || found.Looks < 330 {
		t.Errorf("only this was looked at (%d places): %q", found.Looks, found.Done)
	}
	t.Logf("%d places were looked at", found.Looks)
	for _, problem := range append(found.Violations, found.Errors...) {
		t.Error(problem)
	}
}
