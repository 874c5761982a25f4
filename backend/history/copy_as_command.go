package history

import (
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// CurlCommand returns a shell command that repeats a recorded tool call through the API at url. The
// command reads the token from the environment variable DRAWBRIDGE_ADMIN_TOKEN.
func CurlCommand(url string, r *store.Record) (string, error) {
	args, err := toolArguments(r)
	if err != nil {
		return "", err
	}
	body := `{"server":` + encode(r.Server) + `,"tool":` + encode(r.Name) + `,"arguments":` + args + `}`
	return "curl -sS -X POST " + shellQuote(url+"/api/v1/call") + " \\\n  -H \"Authorization: Bearer $DRAWBRIDGE_ADMIN_TOKEN\" \\\n  -H 'Content-Type: application/json' \\\n  -d " + shellQuote(body), nil
}

// CLICommand returns a shell command that repeats a recorded tool call with 'drawbridge call'.
func CLICommand(r *store.Record) (string, error) {
	args, err := toolArguments(r)
	if err != nil {
		return "", err
	}
	return "drawbridge call " + shellQuote(r.Server) + " " + shellQuote(r.Name) + " " + shellQuote(args), nil
}

func toolArguments(r *store.Record) (string, error) {
	if r.Method != "tools/call" || r.FromServer {
		return "", core.Errorf(core.CodeValidation, "only tool calls can be copied as a command")
	}
	if len(r.Arguments) == 0 {
		return "{}", nil
	}
	return string(r.Arguments), nil
}

// shellQuote quotes s as one word for a POSIX shell, if necessary.
func shellQuote(s string) string {
	plain := s != ""
	for _, c := range s {
		plain = plain && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_-./:", c))
	}
	if plain && s[0] != '-' {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
