package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

const licencesFile = "docs/licences.md"

// thirdPartySoftware is third-party software that we ship.
type thirdPartySoftware struct {
	name, version string
	licence       string // SPDX identifiers
	from          string // its folder on this machine
	npm           bool
}

// shippedBuilds are the programs that we ship for each operating system, as arguments and
// environment of go list.
var shippedBuilds = [][]string{
	{"GOOS=linux", "CGO_ENABLED=0", "./app/drawbridge"},
	{"GOOS=windows", "CGO_ENABLED=0", "./app/drawbridge"},
	{"GOOS=darwin", "CGO_ENABLED=1", "./app/drawbridge"},
	{"GOOS=linux", "CGO_ENABLED=1", "-tags=desktop,production,webkit2_41", "."},
	{"GOOS=windows", "CGO_ENABLED=0", "-tags=desktop,production", "."},
	{"GOOS=darwin", "CGO_ENABLED=1", "-tags=desktop,production", "."},
}

// shippedWith lists the Go modules that are linked into our programs and the npm packages that the
// page contains. It omits tools for building and testing.
func shippedWith(root string) ([]thirdPartySoftware, error) {
	modules, err := goModules(root)
	if err != nil {
		return nil, err
	}
	packages, err := npmPackages(root)
	if err != nil {
		return nil, err
	}
	list := append(modules, packages...)
	for i, p := range list {
		if p.licence != "" {
			continue
		}
		text := licenceText(p.from)
		cov := licensecheck.Scan(text)
		if cov.Percent < 40 {
			return nil, fmt.Errorf("no licence is recognised in %s: add it by hand", p.from)
		}
		var names []string
		for _, m := range cov.Match {
			if !slices.Contains(names, m.ID) {
				names = append(names, m.ID)
			}
		}
		slices.Sort(names)
		list[i].licence = strings.Join(names, " AND ")
	}
	return list, nil
}

func goModules(root string) ([]thirdPartySoftware, error) {
	found := map[string]thirdPartySoftware{}
	for _, b := range shippedBuilds {
		var args, env []string
		for _, a := range b {
			if strings.Contains(a, "=") && !strings.HasPrefix(a, "-") {
				env = append(env, a)
			} else {
				args = append(args, a)
			}
		}
		cmd := exec.Command("go", append([]string{"list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}"}, args...)...)
		cmd.Dir, cmd.Env, cmd.Stderr = root, append(os.Environ(), env...), os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("cannot list the modules of %v: %w", b, err)
		}
		for line := range strings.Lines(string(out)) {
			if f := strings.Fields(line); len(f) == 3 {
				found[f[0]] = thirdPartySoftware{name: f[0], version: f[1], from: f[2]}
			}
		}
	}
	list := make([]thirdPartySoftware, 0, len(found))
	for _, p := range found {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b thirdPartySoftware) int { return cmp.Compare(a.name, b.name) })
	return list, nil
}

// npmPackages lists the packages of the lock file that are not development dependencies.
func npmPackages(root string) ([]thirdPartySoftware, error) {
	src, err := os.ReadFile(filepath.Join(root, "frontend/package-lock.json"))
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct {
			Version, License string
			Dev, DevOptional bool
		}
	}
	if err := json.Unmarshal(src, &lock); err != nil {
		return nil, err
	}
	var list []thirdPartySoftware
	for place, p := range lock.Packages {
		if place == "" || p.Dev || p.DevOptional {
			continue
		}
		name := place[strings.LastIndex(place, "node_modules/")+len("node_modules/"):]
		list = append(list, thirdPartySoftware{name: name, version: p.Version, licence: p.License, from: filepath.Join(root, "frontend", place), npm: true})
	}
	slices.SortFunc(list, func(a, b thirdPartySoftware) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.version, b.version))
	})
	return slices.CompactFunc(list, func(a, b thirdPartySoftware) bool { return a.name == b.name && a.version == b.version }), nil
}

// licenceText returns the text of the licence files in a folder.
func licenceText(dir string) []byte {
	entries, _ := os.ReadDir(dir)
	var text []byte
	for _, e := range entries {
		name := strings.ToLower(e.Name())
		if e.IsDir() || path.Ext(name) == ".go" {
			continue
		}
		for _, start := range []string{"licen", "copying", "notice", "copyright"} {
			if strings.HasPrefix(name, start) {
				b, _ := os.ReadFile(filepath.Join(dir, e.Name()))
				text = append(append(text, b...), '\n')
				break
			}
		}
	}
	return text
}

const licencesHead = mark + `# Third-party licences

Drawbridge itself is licensed under Apache-2.0. The programs or their web UI contain these modules and packages on at least one
platform; ` + "`THIRD-PARTY.txt`" + ` in every package has the licence texts. Tools for building and testing are not listed.
[Contributing](CONTRIBUTING.md#dependencies) describes how to update a module; ` + "`make docs`" + ` generates this list.
`

// licences lists what we ship by licence, which is said once for all that have it.
func licences(list []thirdPartySoftware) []byte {
	var b bytes.Buffer
	b.WriteString(licencesHead)
	for _, npm := range []bool{false, true} {
		b.WriteString(map[bool]string{false: "\n## Go modules\n", true: "\n## npm packages\n"}[npm])
		byLicence := map[string]string{}
		for _, p := range list {
			if p.npm == npm {
				byLicence[p.licence] += fmt.Sprintf("`%s@%s`\n", p.name, p.version)
			}
		}
		for _, licence := range slices.Sorted(maps.Keys(byLicence)) {
			fmt.Fprintf(&b, "\n### %s\n\n%s", licence, byLicence[licence])
		}
	}
	return b.Bytes()
}

// licenceTexts returns the licence texts, which the licences require with each copy.
func licenceTexts(list []thirdPartySoftware) []byte {
	var b bytes.Buffer
	b.WriteString("Works of others that are part of Drawbridge, with their licences.\n")
	for _, p := range list {
		fmt.Fprintf(&b, "\n\n%s\n%s %s (%s)\n\n%s", strings.Repeat("=", 72), p.name, p.version, p.licence, bytes.TrimSpace(licenceText(p.from)))
	}
	b.WriteByte('\n')
	return b.Bytes()
}
