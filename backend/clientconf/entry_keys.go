package clientconf

import (
	_ "embed"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/config"
)

//go:embed entry_keys.json
var entryKeysJSON []byte

// entryKeys is the table of the keys that clients have in the entry of a server.
type entryKeys struct {
	// Meanings lists the keys by what an import does with them:
	//   - program, remote: the program or the URL, and what belongs to it
	//   - kind: the transport
	//   - auth, oauth, resource: sign-in
	//   - envFile: a file with variables
	//   - startup, timeout: time limits
	//   - enabled, disabled: the switch of the server
	//   - include, includeSome, exclude: names of tools; an empty list of include allows none,
	//     one of includeSome allows all
	//   - tools, approval: what is allowed, or needs a confirmation, for each tool or for all
	//   - harmless: nothing, because it changes neither what runs nor what may be called
	//   - process: nothing, because it only matters for the client's own process
	//   - note: a note
	//   - restrict: a note, and the server is disabled, because it is limited or protected by it
	//   - route, place: the same, because it changes where the server connects to, or where it runs
	Meanings map[string][]string `json:"meanings"`
	// HarmlessValues are the values with which a key of restrict or route has no effect.
	HarmlessValues map[string]any `json:"harmlessValues"`
	// Clients lists the keys of each client with their source, and the keys that it uses
	// differently.
	Clients map[string]struct {
		Source  string            `json:"source"`
		Keys    []string          `json:"keys"`
		Differs map[string]string `json:"differs"`
		Globs   bool              `json:"globs"` // lists of tools may contain patterns
		// Off and On are paths beside the servers of lists with the names of those that are switched
		// off, or of the only ones that are not.
		Off []string `json:"off"`
		// Rules are the places of rules about tools outside of the entries.
		Rules []ruleSource `json:"rules"`
		On    []string     `json:"on"`
	} `json:"clients"`

	byKey map[string]string // the meaning of each key
	loose map[string]string // the same for other spellings of keys that restrict
}

var knownKeys = sync.OnceValue(func() entryKeys {
	var t entryKeys
	if err := json.Unmarshal(entryKeysJSON, &t); err != nil {
		panic(err) // the table is embedded, and a test parses it
	}
	t.byKey, t.loose = map[string]string{}, map[string]string{}
	for meaning, keys := range t.Meanings {
		for _, key := range keys {
			t.byKey[key] = meaning
			if slices.Contains([]string{"include", "exclude", "restrict", "route", "disabled", "enabled"}, meaning) {
				t.loose[looseKey(key)] = meaning
			}
		}
	}
	return t
})

// looseKey returns a key without its case and separators.
func looseKey(key string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(key))
}

// meaning returns what an import does with a key; "" if the key is unknown.
func (t entryKeys) meaning(client, key string) string {
	if m := t.Clients[client].Differs[key]; m != "" {
		return m
	}
	if m := t.byKey[key]; m != "" {
		return m
	}
	return t.loose[looseKey(key)]
}

func (t entryKeys) isSwitchedOff(client string, beside map[string]any, name string) bool {
	off, _ := valueAt(beside, t.Clients[client].Off).([]any)
	on, isList := valueAt(beside, t.Clients[client].On).([]any)
	return isList && len(on) > 0 && !slices.Contains(on, any(name)) || slices.ContainsFunc(off, func(v any) bool {
		pattern, isText := v.(string) // some take patterns
		return isText && config.Match(pattern, name)
	})
}

// isRunKey reports whether the key defines what is run or called. All others are switches of the
// client.
func (t entryKeys) isRunKey(client, key string) bool {
	if t.Clients[client].Differs[key] != "" && t.byKey[key] == "oauth" {
		return true
	}
	return slices.Contains([]string{"program", "remote", "kind", "auth", "oauth", "resource", "envFile", "startup", "process", "place", "route"}, t.meaning(client, key)) ||
		slices.Contains([]string{"sandbox", "sandboxEnabled", "headersHelper", "http_headers_helper", "bearer_token", "socket"}, key)
}

// hasNoEffect reports whether a key with this value neither limits nor changes a server.
func (t entryKeys) hasNoEffect(key string, v any) bool {
	m, _ := v.(map[string]any)
	return isBlank(v) || v == false || m["enabled"] == false || reflect.DeepEqual(v, t.HarmlessValues[key])
}

// limiting matches the names of unknown keys that may limit what a server can do, protect it, or lead its
// traffic elsewhere.
var limiting = osutil.LazyRegexp(`(?i)tool|allow|den(y|ied)|block|approv|confirm|permi|polic|sandbox|read.?only|restrict|limit|scope|auth|sign.?in|secret|token|credential|password|key|cert|env|include|exclude|disabl|enabl|forbid|only|guard|trust|prox(y|ies)|tunnel|socks|network|dns|egress|outbound|firewall|redirect|rout(e|ing)|tls|ssl|isolat|jail|container|docker`)
