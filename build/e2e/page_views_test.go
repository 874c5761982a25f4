//go:build e2e

package e2e

import "testing"

// Tools, calls, sessions and statistics on the page of the real daemon.
func TestCallViewsOfPage(t *testing.T) {
	t.Parallel()
	unending := testServer(t, "unending")
	unending["requestTimeoutMs"] = 300_000
	d := start(t, object{
		"mcpServers": object{"demo": demo(), "unending": unending},
		"history":    object{"debugClients": []string{"life"}},
	})
	d.running("demo", "unending")
	browse(t, d, "page-calls.mjs", object{"token": d.token("life")}, nil)
}

// The buttons, menus and forms of the page that change nothing permanently: filters, statistics,
// copying, downloads, the command palette and the layout for phones.
func TestOtherPageViews(t *testing.T) {
	t.Parallel()
	limited := demo()
	limited["env"] = object{"API_TOKEN": "cnry-of-the-entry"}
	limited["tools"] = object{"slow": object{"maxRequestMs": 1000}}
	d := start(t, object{
		"mcpServers": object{"demo": demo(), "limited": limited, "asking": testServer(t, "ask"), "form": testServer(t, "ask-form"), "opens": testServer(t, "ask-url")},
	})
	d.running("demo", "limited", "asking", "form", "opens")
	browse(t, d, "page-other-views.mjs", object{"token": d.token("life"), "binary": binary}, nil)
}
