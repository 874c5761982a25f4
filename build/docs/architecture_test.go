package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The table in the architecture document lists every package, and no package that does not exist.
func TestPackageTableIsComplete(t *testing.T) {
	src, err := os.ReadFile(filepath.Join(root, "docs/architecture.md"))
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(src), "| package | owns |")
	table, _, _ = strings.Cut(table, "\n\n")
	named := map[string]bool{"config": false} // the one outside of backend
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for i, name := range strings.Split(cells[1], "`") {
				if i%2 == 1 {
					named[name] = true
				}
			}
		}
	}
	entries, err := os.ReadDir(filepath.Join(root, "backend"))
	require.NoError(t, err)
	there := map[string]bool{"config": true}
	for _, e := range entries {
		if e.IsDir() {
			there[e.Name()] = true
			assert.Truef(t, named[e.Name()], "the package %s is not in the table", e.Name())
		}
	}
	for name := range named {
		assert.Truef(t, there[name], "there is no package %s", name)
	}
}

// Each stop of the two paths names a function in its file, and a path has at most eight stops.
func TestArchitecturePathsExist(t *testing.T) {
	src, err := os.ReadFile(filepath.Join(root, "docs/architecture.md"))
	require.NoError(t, err)
	paths := strings.Split(string(src), "| step | file | function | what happens |")[1:]
	require.Len(t, paths, 2)
	for _, path := range paths {
		path, _, _ = strings.Cut(path, "\n\n")
		stops := 0
		for line := range strings.Lines(path) {
			cells := strings.Split(line, "|")
			if len(cells) < 5 || strings.HasPrefix(cells[1], "-") {
				continue
			}
			stops++
			file, function := strings.Trim(cells[2], " `"), strings.Trim(cells[3], " `")
			assert.Truef(t, declares(t, filepath.Join(root, file), function), "%s has no function %s", file, function)
		}
		assert.Truef(t, stops != 0 && stops <= 8, "a path has %d stops", stops)
	}
}

// declares reports whether a Go file declares a function, given as Name or Receiver.Name.
func declares(t *testing.T, file, function string) bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	receiver, name, method := strings.Cut(function, ".")
	if !method {
		receiver, name = "", function
	}
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != name || (f.Recv != nil) != method {
			continue
		}
		if !method {
			return true
		}
		of := f.Recv.List[0].Type
		if star, ok := of.(*ast.StarExpr); ok {
			of = star.X
		}
		if id, ok := of.(*ast.Ident); ok && id.Name == receiver {
			return true
		}
	}
	return false
}
