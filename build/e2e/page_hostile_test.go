//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Hostile servers, clients and a configuration, with the real daemon between them and the page: 200
// strings in every field, words of 1 MB, 2,000 tools. No script runs, the content security policy
// reports nothing, no other host is contacted, and the page still works.
func TestHostileServerTextIsInertOnPage(t *testing.T) {
	t.Parallel()
	var corpus []string
	if err := json.Unmarshal([]byte(run(t, command(t, nil, node, "--input-type=module", "-e",
		"import { corpus } from '"+abs("../../frontend/e2e/hostile-strings.mjs")+"'; console.log(JSON.stringify(corpus))"), 0)), &corpus); err != nil {
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
	var found struct{ Looks int }
	browse(t, d, "page-hostile.mjs", object{"token": d.token("life")}, &found)
	t.Logf("%d places were looked at", found.Looks)
	assert.False(t, found.Looks < 60 && os.Getenv("STEPS") == "", "that is too few")
}
