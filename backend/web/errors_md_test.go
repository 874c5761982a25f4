package web

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/danielgtaylor/huma/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// docs/errors.md lists every error code with the status that the API responds with, and no
// others.
func TestErrorListIsComplete(t *testing.T) {
	src, err := os.ReadFile("../../docs/errors.md")
	require.NoError(t, err)
	rows := map[core.Code][]string{}
	codesPart, _, _ := strings.Cut(string(src), "\n## Remedies")
	for line := range strings.Lines(codesPart) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		name := strings.TrimSpace(cells[0])
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		code := core.Code(strings.Trim(name, "`"))
		_, twice := rows[code]
		assert.Truef(t, !twice && len(cells) == 5, "%s stands there twice, or has %d columns", code, len(cells))
		rows[code] = cells
	}
	codes := codesOfCore(t)
	for code := range rows {
		assert.Truef(t, codes[code], "%s is in the list, and no code", code)
	}
	for code := range codes {
		cells, ok := rows[code]
		if !ok {
			t.Errorf("%s is not in the list", code)
			continue
		}
		for i, cell := range cells {
			assert.NotEmptyf(t, strings.TrimSpace(cell), "%s: column %d is empty", code, i+1)
		}
		assert.Equal(t, strconv.Itoa(StatusOf(code)), strings.TrimSpace(cells[3]))
		assert.Contains(t, statuses, code)
	}
}

// codesOfCore returns the constants of type core.Code from their source.
func codesOfCore(t *testing.T) map[core.Code]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../core/error.go", nil, 0)
	require.NoError(t, err)
	codes := map[core.Code]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Code" {
			return true
		}
		for _, v := range spec.Values {
			if lit, ok := v.(*ast.BasicLit); ok {
				code, _ := strconv.Unquote(lit.Value)
				codes[core.Code(code)] = true
			}
		}
		return true
	})
	require.Truef(t, len(codes) >= 12, "found only %d codes", len(codes))
	return codes
}

// A body that cannot be read to its end is an invalid request, not an internal error.
func TestUnreadableBodyIsAnInvalidRequest(t *testing.T) {
	for want, err := range map[int]error{400: &core.Error{Code: core.CodeValidation, Message: "cannot read the request body"}, 500: io.ErrUnexpectedEOF} {
		assert.Equal(t, want, huma.NewError(500, "cannot read request body", err).GetStatus(), err)
	}
}

// What went wrong inside may name files and values of the user: it is in the log only.
func TestInternalErrorHidesItsCause(t *testing.T) {
	w := httptest.NewRecorder()
	WriteProblem(w, errors.New("no such table: calls of /home/ana/secret"))
	assert.Equal(t, http.StatusInternalServerError, w.Code)
	assert.Contains(t, w.Body.String(), `"detail":"internal error"`)
	assert.NotContains(t, w.Body.String(), "ana")
}
