// Command stats prints the size and the shape of the source code: make stats, or stats DIR.
//
// A code line holds at least one token that is no comment. Generated files and testdata are not
// counted; build tools (build/) are counted apart; end-to-end tests count as tests.
package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	t := tree{lines: map[string]int{}, files: map[string]int{}, packages: map[string]*pkg{}}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err == nil && d.IsDir() && name != "." && skipped(d.Name()):
			return fs.SkipDir
		case err != nil || !d.Type().IsRegular():
			return err
		}
		src, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		return t.add(name, src)
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "stats:", err)
		os.Exit(1)
	}
	t.print(os.Stdout)
}

func skipped(dir string) bool {
	return dir == "node_modules" || dir == "testdata" || dir == "dist" || dir == "bin" || strings.HasPrefix(dir, ".")
}

// tree is what was counted.
type tree struct {
	lines, files map[string]int // by kind
	packages     map[string]*pkg
}

// pkg is one package of the program, without its tests.
type pkg struct {
	lines, files int
	methods      map[string]int // of each type
	interfaces   map[string]int // methods of each interface
	imports      map[string]bool
	declared     []string // names
}

// testSupport matches packages that no shipped program imports.
var testSupport = regexp.MustCompile(`/(\w+test|eventually)/`)

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

func (t *tree) add(name string, src []byte) error {
	if generated.Match(src) || strings.HasSuffix(name, ".gen.ts") {
		return nil
	}
	kind, n := "", 0
	switch path.Ext(name) {
	case ".go":
		kind, n = "Go shipped", goLines(src)
		switch {
		case strings.HasSuffix(name, "_test.go"), strings.HasPrefix(name, "build/e2e/"), strings.HasPrefix(name, "build/soak/"), testSupport.MatchString(name):
			kind = "Go tests"
		case strings.HasPrefix(name, "build/"):
			kind = "Go build tools"
		default:
			if err := t.addPackage(name, src, n); err != nil {
				return err
			}
		}
	case ".ts", ".tsx":
		kind, n = "TypeScript", scriptLines(string(src))
	case ".mjs", ".js":
		kind, n = "page and build scripts", scriptLines(string(src))
	default:
		return nil
	}
	t.lines[kind] += n
	t.files[kind]++
	return nil
}

func goLines(src []byte) int {
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	lines := map[int]bool{}
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return len(lines)
		}
		if tok == token.SEMICOLON && literal == "\n" {
			continue
		}
		first := file.Line(pos)
		for i := range strings.Count(literal, "\n") + 1 { // a raw string
			lines[first+i] = true
		}
	}
}

func scriptLines(src string) int {
	n, inComment := 0, false
	for line := range strings.Lines(src) {
		line = strings.TrimSpace(line)
		switch {
		case inComment:
			inComment = !strings.Contains(line, "*/")
		case line == "", strings.HasPrefix(line, "//"):
		case strings.HasPrefix(line, "/*"):
			inComment = !strings.Contains(line, "*/")
		default:
			n++
		}
	}
	return n
}

const module = "github.com/drawbridge-mcp/drawbridge/"

func (t *tree) addPackage(name string, src []byte, lines int) error {
	dir := path.Dir(name)
	p := t.packages[dir]
	if p == nil {
		p = &pkg{methods: map[string]int{}, interfaces: map[string]int{}, imports: map[string]bool{}}
		t.packages[dir] = p
	}
	p.lines += lines
	p.files++
	file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, i := range file.Imports {
		if own, ok := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module); ok {
			p.imports[own] = true
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			p.declared = append(p.declared, d.Name.Name)
			if d.Recv != nil && len(d.Recv.List) == 1 {
				p.methods[receiver(d.Recv.List[0].Type)]++
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					p.declared = append(p.declared, s.Name.Name)
				case *ast.ValueSpec:
					for _, n := range s.Names {
						p.declared = append(p.declared, n.Name)
					}
				}
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.TypeSpec); ok {
			if i, ok := s.Type.(*ast.InterfaceType); ok {
				p.interfaces[s.Name.Name] = len(i.Methods.List)
			}
		}
		return true
	})
	return nil
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// features are recent ones, by what the names of their declarations contain. A feature lies in
// the packages that declare such names; the wiring in app is the price of every feature.
var features = []struct{ name, pattern string }{
	{"tool trust", `Trust|Baseline|Withheld|Definition`},
	{"sandbox", `[Ss]andbox`},
	{"profiles", `[Pp]rofile`},
	{"argument rules", `ArgumentRule|argumentRule|pathRule`},
	{"saved checks", `SavedCheck|savedCheck|RegressionCheck`},
	{"destinations", `[Dd]estination`},
}

func (t *tree) print(out io.Writer) {
	for _, kind := range slices.Sorted(maps.Keys(t.lines)) {
		fmt.Fprintf(out, "%-24s %7d code lines in %4d files\n", kind, t.lines[kind], t.files[kind])
	}
	arrows := 0
	own := 0
	for name, p := range t.packages {
		arrows += len(p.imports)
		if top, _, _ := strings.Cut(name, "/"); top == "app" || top == "backend" || top == "config" {
			own++
		}
	}
	fmt.Fprintf(out, "\npackages in app, backend and config: %d; imports between packages: %d; circles: %d\n", own, arrows, t.circles())
	top("\ntypes with most methods", out, t.each(func(p *pkg) map[string]int { return p.methods }))
	top("\nwidest interfaces", out, t.each(func(p *pkg) map[string]int { return p.interfaces }))

	fmt.Fprintln(out, "\npackages that a feature lies in (app excepted)")
	for _, f := range features {
		pattern := regexp.MustCompile(f.pattern)
		var in []string
		for name, p := range t.packages {
			if !strings.HasPrefix(name, "app") && slices.ContainsFunc(p.declared, pattern.MatchString) {
				in = append(in, path.Base(name))
			}
		}
		slices.Sort(in)
		fmt.Fprintf(out, "%6d  %s: %s\n", len(in), f.name, strings.Join(in, " "))
	}
	fmt.Fprintln(out, "\ncode lines and files by package")
	for _, name := range slices.SortedFunc(maps.Keys(t.packages), func(a, b string) int { return cmp.Compare(t.packages[b].lines, t.packages[a].lines) }) {
		fmt.Fprintf(out, "%6d %4d  %s\n", t.packages[name].lines, t.packages[name].files, name)
	}
}

func (t *tree) each(of func(*pkg) map[string]int) map[string]int {
	all := map[string]int{}
	for name, p := range t.packages {
		for k, n := range of(p) {
			all[path.Base(name)+"."+k] = n
		}
	}
	return all
}

func top(title string, out io.Writer, counts map[string]int) {
	fmt.Fprintln(out, title)
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for _, name := range names[:min(8, len(names))] {
		fmt.Fprintf(out, "%6d  %s\n", counts[name], name)
	}
}

// circles counts the packages that import themselves through others. The compiler allows none.
func (t *tree) circles() int {
	n := 0
	for name := range t.packages {
		seen := map[string]bool{}
		next := []string{name}
		for len(next) > 0 {
			p := t.packages[next[0]]
			next = next[1:]
			if p == nil {
				continue
			}
			for i := range p.imports {
				if i == name {
					n++
				}
				if !seen[i] {
					seen[i] = true
					next = append(next, i)
				}
			}
		}
	}
	return n
}
