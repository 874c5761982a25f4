package core

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestServerIsFoundByNameOrID(t *testing.T) {
	servers := []ServerIdentity{
		{"my-server", "my server"}, {"21st-dev-magic", "@21st-dev/magic"}, {"files", "Files"}, {"Files-2", "files"}, {"Docs", "Docs"}, {"web-a", "Web"}, {"web-b", "WEB"},
	}
	for text, want := range map[string]string{
		"my-server": "my-server", "my server": "my-server", "@21st-dev/magic": "21st-dev-magic", "MY SERVER": "my-server",
		"files": "files", // the exact id wins over the exact name
		"Files": "files", "docs": "Docs", "Web": "web-a", "none": "", "": "",
	} {
		got, err := FindServer(servers, text)
		assert.Truef(t, got == want && err == nil, "%q leads to %q, %v; want %q", text, got, err, want)
	}
	_, err := FindServer(servers, "web")
	_, hint := Describe(err)
	assert.Truef(t, CodeOf(err) == CodeValidation && strings.Contains(hint, "web-a, web-b"), "two servers that fit equally: %v (%s)", err, hint)
}
