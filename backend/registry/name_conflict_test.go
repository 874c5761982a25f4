package registry

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestConflictIsReportedForLosingServer(t *testing.T) {
	r := New(Options{})
	r.Configure(Prefixed, []Server{{ID: "a"}, {ID: "b"}, {ID: "c", Namespace: "A"}, {ID: "d"}})
	r.Set("a", "a", catalogOf("mem://x", "mem://y"))
	r.Set("b", "b", catalogOf("mem://x", "mem://z"))
	r.Set("d", "d", catalogOf("mem://y", "mem://x", "mem://z"))
	for server, want := range map[string]string{
		"a": `[the names of its tools end in a hash, because server "c" has the same namespace]`,
		"b": `[resource "mem://x" is listed as "mem://b__x" at the endpoint that combines all servers, because without the server's id, the URI could refer to another server]`,
		"c": `[the names of its tools end in a hash, because server "a" has the same namespace]`,
		"d": `[the URIs of 3 resources are listed with the server's id, for example "mem://d__x" at the endpoint that combines all servers, because without the id they could refer to another server]`,
	} {
		assert.Equal(t, want, fmt.Sprint(r.All().Conflicts(server)), server)
	}
	r.Configure(Prefixed, []Server{{ID: "b"}})
	assert.Empty(t, r.All().Conflicts("b"), "settled, but told")
}

func TestQualifiedNamesAreReported(t *testing.T) {
	r := New(Options{})
	r.Configure(Bare, []Server{{ID: "a"}, {ID: "b"}, {ID: "c"}})
	r.Set("a", "a", tools("read", "write", "only-a"))
	r.Set("b", "b", tools("read", "write"))
	r.Set("c", "c", tools("read", "only-c"))
	for server, want := range map[string]string{
		"a": `[2 tools, such as "read", are prefixed with the server's name, because other servers have tools with the same names]`,
		"b": `[2 tools, such as "read", are prefixed with the server's name, because other servers have tools with the same names]`,
		"c": `["read" is prefixed with the server's name, because another server has a tool or prompt with that name]`,
	} {
		assert.Equal(t, want, fmt.Sprint(r.All().Conflicts(server)), server)
	}
	r.Configure(Bare, []Server{{ID: "c"}})
	assert.Empty(t, r.All().Conflicts("c"), "alone, but told")
}
