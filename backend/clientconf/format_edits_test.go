package clientconf

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Edits that wait for each other give the same file as if it was read again after each.
func TestManyEditsAtOnceAreThoseOneByOne(t *testing.T) {
	for _, id := range []string{"cursor", "vscode", "codex", "goose", "continue", "mistral-vibe"} {
		t.Run(id, func(t *testing.T) {
			client, err := ByID(id)
			require.NoError(t, err)
			servers := map[string]any{}
			for n := range 12 {
				servers[fmt.Sprint("s", n)] = map[string]any{"command": fmt.Sprint("x", n)}
			}
			for seed := range uint64(60) {
				random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // the same edits in each run
				_, text := clientFile(t, client, servers)
				if seed%3 == 0 {
					text = "\ufeff" + text
				}
				original, err := parse([]byte(text), client)
				require.NoError(t, err)
				content, many := []byte(text), newEditing(client, []byte(text), original)
				for range 20 {
					name := fmt.Sprint("s", random.IntN(16))
					file, err := parse(content, client)
					require.NoError(t, err)
					raw, value, err := file.entry(client.KeyPath, name)
					require.NoError(t, err)
					manyRaw, manyValue, err := many.entry(client.KeyPath, name)
					require.NoError(t, err)
					require.Equal(t, string(raw), string(manyRaw))
					require.Equal(t, string(value), string(manyValue))
					switch kind := random.IntN(3); {
					case kind == 0 || raw == nil:
						entry := json.RawMessage(fmt.Sprintf(`{"name": %q, "command": "y%d", "args": ["a"]}`, name, random.IntN(100)))
						content, err = file.set(client.KeyPath, name, entry)
						require.NoError(t, err)
						require.NoError(t, many.set(client.KeyPath, name, entry))
					case kind == 1:
						content, err = file.remove(client.KeyPath, name)
						require.NoError(t, err)
						require.NoError(t, many.remove(client.KeyPath, name))
					default:
						content, err = file.replace(client.KeyPath, name, raw)
						require.NoError(t, err)
						require.NoError(t, many.replace(client.KeyPath, name, raw))
					}
				}
				require.Equal(t, string(content), string(many.result()), "seed %d", seed)
			}
		})
	}
}

// With one parse of the file for each edit, moving and undoing 300 servers allocates 1,200, 600 and 8,900 MB,
// and a file with 10,000 servers takes minutes; without, it allocates 160, 140 and 280 MB.
func TestMoveOfManyServersDoesNotParseTheFileForEach(t *testing.T) {
	for id, megabytes := range map[string]uint64{"cursor": 400, "codex": 300, "goose": 1000} {
		assert.Less(t, moveAllocations(t, id, 300)/1e6, megabytes, id)
	}
}

// moveAllocations returns how many bytes are allocated while count servers of a client are moved and undone.
func moveAllocations(t *testing.T, id string, count int) uint64 {
	c, home, _ := newMover(t)
	client, err := ByID(id)
	require.NoError(t, err)
	servers := map[string]any{}
	for n := range count {
		servers[fmt.Sprint("s", n)] = map[string]any{"command": fmt.Sprint("x", n), "cmd": fmt.Sprint("x", n)}
	}
	name, text := clientFile(t, client, servers)
	path := filepath.Join(home, name)
	write(t, path, text)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	plan, err := c.PlanMove(Choice{Client: id}, nil, false)
	require.NoError(t, err)
	require.NoError(t, c.Apply(t.Context(), plan))
	write(t, path, content(t, path)+"\n") // now each entry is undone
	how, err := c.Undo(t.Context(), id, UndoOptions{})
	require.NoError(t, err)
	assert.Equal(t, Removed, how)
	assert.Equal(t, text+"\n", content(t, path))
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
