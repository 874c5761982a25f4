package upstream

import (
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
)

// Original output of npm 10 and 11.
var npmPrints = map[string]string{
	"npm error code E404: Not Found - GET https://registry.npmjs.org/no-such-thing - Not found": `npm error code E404
npm error 404 Not Found - GET https://registry.npmjs.org/no-such-thing - Not found
npm error 404
npm error 404  'no-such-thing@1.0.0' is not in this registry.
npm error 404
npm error 404 Note that you can also install from a
npm error 404 tarball, folder, http url, or git folder.
npm error A complete log of this run can be found in: /root/.npm/_logs/2026-11-22T10_00_00_000Z-debug-0.log`,
	"npm error code ECONNREFUSED: FetchError: request to http://127.0.0.1:1/x failed, reason: connect ECONNREFUSED 127.0.0.1:1": `npm error code ECONNREFUSED
npm error syscall connect
npm error errno ECONNREFUSED
npm error FetchError: request to http://127.0.0.1:1/x failed, reason: connect ECONNREFUSED 127.0.0.1:1
npm error     at ClientRequest.<anonymous> (/usr/share/node/x.js:130:14)`,
	"npm error code SELF_SIGNED_CERT_IN_CHAIN: request to https://registry.npmjs.org/x failed, reason: self-signed certificate in certificate chain": `npm warn deprecated a@1: old
npm ERR! code SELF_SIGNED_CERT_IN_CHAIN
npm ERR! errno SELF_SIGNED_CERT_IN_CHAIN
npm ERR! request to https://registry.npmjs.org/x failed, reason: self-signed certificate in certificate chain`,
	"npm error code ENOTEMPTY: ENOTEMPTY: directory not empty, rename '/root/.npm/_npx/3f84b1f5a1b2c3d4/node_modules/zod' -> '/root/.npm/_npx/3f84b1f5a1b2c3d4/node_modules/.zod-x'": `npm error code ENOTEMPTY
npm error syscall rename
npm error path /root/.npm/_npx/3f84b1f5a1b2c3d4/node_modules/zod
npm error dest /root/.npm/_npx/3f84b1f5a1b2c3d4/node_modules/.zod-x
npm error errno -39
npm error ENOTEMPTY: directory not empty, rename '/root/.npm/_npx/3f84b1f5a1b2c3d4/node_modules/zod' -> '/root/.npm/_npx/3f84b1f5a1b2c3d4/node_modules/.zod-x'
npm error A complete log of this run can be found in: /root/.npm/_logs/x.log`,
	"npm error: could not determine executable to run": "npm error could not determine executable to run\nnpm error A complete log of this run can be found in: /root/x.log",
	"": "npm warn deprecated inflight@1.0.6\nnpm notice New major version of npm available!\nready\nnpm error process terminated\nnpm error signal SIGTERM", // stopped by us
}

func TestNpmFailureReasonIsItsErrorLine(t *testing.T) {
	for want, printed := range npmPrints {
		assert.Equal(t, want, NpmFailure(strings.Split(printed, "\n")))
	}
}

func TestRefusedConnectionNamesItsAddress(t *testing.T) {
	for reason, address := range map[string]string{
		"Error: connect ECONNREFUSED 127.0.0.1:5432":                                                                   "127.0.0.1:5432",
		"dial tcp [::1]:6379: connect: connection refused":                                                             "[::1]:6379",
		"npm error code ECONNREFUSED: request failed, reason: connect ECONNREFUSED 1.2.3.4:8":                          "",
		"dial tcp 127.0.0.1:9: connectex: No connection could be made because the target machine actively refused it.": "127.0.0.1:9",
	} {
		hint, _ := Advice(reason, []string{reason}, "node")
		want := "Nothing listens on " + address + ": start it, or change the address."
		assert.Equal(t, address != "", hint == want, reason)
	}
	hint, remedy := RemoteAdvice("cannot be reached: dial tcp 127.0.0.1:9: connect: connection refused")
	assert.Equal(t, "Nothing listens on 127.0.0.1:9: start it, or change the address.", hint)
	assert.Equal(t, core.EditConfig("url"), remedy)
	hint, _ = RemoteAdvice("cannot be reached: dial tcp: lookup x.invalid: no such host")
	assert.Contains(t, hint, "Check its address")
	hint, _ = RemoteAdvice("responded with 401 Unauthorized: API_KEY is required")
	assert.Empty(t, hint)
}
