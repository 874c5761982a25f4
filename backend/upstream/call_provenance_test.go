package upstream

import (
	"crypto/sha256"
	"sync"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCallsNameTheVersionAndDefinitionThatAnswered(t *testing.T) {
	hashed := 0
	c := connect(t, Options{Dial: inProcess("echo"), DefinitionHash: func(raw []byte) [16]byte {
		hashed++
		sum := sha256.Sum256(raw)
		return [16]byte(sum[:16])
	}})
	c.SetPackage("pkg@1.2.3")
	ask := func(method, name string) *core.ServedBy {
		call := &core.Call{Era: core.Legacy, Method: method, Name: name, Params: []byte(`{"name":"` + name + `","arguments":{}}`)}
		_, err := c.Send(t.Context(), call, nil)
		require.NoError(t, err)
		return call.ServedBy
	}
	tool := c.Catalog().Tools[0]
	sum := sha256.Sum256(tool.Raw)
	first := ask("tools/call", tool.Name)
	assert.Truef(t, first.Name != "" && first.Version != "" && first.Package == "pkg@1.2.3" && first.Definition == [16]byte(sum[:16]), "%+v", first)
	again := ask("tools/call", tool.Name)
	assert.Truef(t, *again == *first && hashed == 1, "%+v, hashed %d times", again, hashed)
	unknown := ask("tools/call", "no-such-tool")
	assert.Truef(t, unknown.Definition == [16]byte{} && unknown.Version == first.Version, "%+v", unknown)
	prompt := ask("prompts/get", tool.Name)
	assert.Truef(t, prompt.Definition == [16]byte{} && prompt.Version == first.Version, "%+v", prompt)
	next := *c.Catalog() // the tool has changed
	next.Tools = []core.Item{{Name: tool.Name, Raw: []byte(`{"name":"x"}`)}}
	c.catalog.Store(&next)
	assert.NotEqual(t, first.Definition, ask("tools/call", tool.Name).Definition)
}

func TestManyToolsAtOnceAreDescribedRight(t *testing.T) {
	c := connect(t, Options{Dial: inProcess("echo"), DefinitionHash: func(raw []byte) [16]byte { return [16]byte{raw[0]} }})
	catalog := &core.Catalog{}
	for letter := byte('a'); letter <= 'z'; letter++ {
		catalog.Tools = append(catalog.Tools, core.Item{Name: string(letter), Raw: []byte{letter}})
	}
	c.catalog.Store(catalog)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for n := range 500 {
				name := catalog.Tools[n%26].Name
				assert.Equal(t, [16]byte{name[0]}, c.servedBy(&core.Call{Method: "tools/call", Name: name}).Definition)
			}
		})
	}
	all.Wait()
}

func BenchmarkServedBy(b *testing.B) {
	c := connect(b, Options{Dial: inProcess("echo"), DefinitionHash: func([]byte) [16]byte { return [16]byte{1} }})
	call := &core.Call{Method: "tools/call", Name: c.Catalog().Tools[0].Name}
	b.ReportAllocs()
	for b.Loop() {
		c.servedBy(call)
	}
}
