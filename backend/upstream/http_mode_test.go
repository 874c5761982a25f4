package upstream

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestServerThatServesHTTPInsteadIsToldToSetURL(t *testing.T) {
	for line, want := range map[string]string{
		"Server listening on http://localhost:3000/mcp.":                          `"http://localhost:3000/mcp"`,
		"INFO:     Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)": `"http://127.0.0.1:8000"`,
		"MCP HTTP endpoint: http://127.0.0.1:7/mcp":                               `"http://127.0.0.1:7/mcp"`,
		"see https://example.com/docs when the server is running":                 "",
		"running on stdio": "",
		"":                 "",
	} {
		hint, _ := HTTPModeAdvice([]string{"starting", line, "ok"})
		assert.Truef(t, !(want == "" && hint != "") && strings.Contains(hint, want), "%q: %q, want %q", line, hint, want)
	}
}
