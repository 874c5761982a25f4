package main

import (
	"cmp"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
)

// component is an entry of a software bill of materials in the format CycloneDX 1.6.
type component struct {
	Type     string    `json:"type"`
	Ref      string    `json:"bom-ref"`
	Name     string    `json:"name"`
	Version  string    `json:"version"`
	Licenses []license `json:"licenses"`
	PURL     string    `json:"purl"`
}

type license struct {
	Expression string `json:"expression"`
}

// sbom lists the Go modules and npm packages that are part of our programs on at least one system.
// It contains no time and no random number, so two builds of a commit write the same bytes.
func sbom(list []thirdPartySoftware, version string) ([]byte, error) {
	components := []component{newComponent("library", thirdPartySoftware{name: "std", version: strings.TrimPrefix(runtime.Version(), "go"), licence: "BSD-3-Clause"})}
	for _, p := range list {
		components = append(components, newComponent("library", p))
	}
	slices.SortFunc(components, func(a, b component) int { return cmp.Compare(a.Ref, b.Ref) })
	return json.MarshalIndent(map[string]any{
		"$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata":   map[string]any{"component": newComponent("application", thirdPartySoftware{name: "github.com/drawbridge-mcp/drawbridge", version: "v" + version, licence: "Apache-2.0"})},
		"components": components,
	}, "", "  ")
}

func newComponent(kind string, p thirdPartySoftware) component {
	path := "pkg:golang/" + strings.ToLower(p.name)
	if p.npm {
		path = "pkg:npm/" + strings.Replace(p.name, "@", "%40", 1)
	}
	purl := path + "@" + url.QueryEscape(p.version)
	return component{kind, purl, p.name, p.version, []license{{p.licence}}, purl}
}

// checkPrograms returns an error unless the bill of materials in a file lists everything that the
// Go linker put into the programs.
func checkPrograms(bill string, programs []string) error {
	text, err := os.ReadFile(bill)
	if err != nil {
		return err
	}
	var listed struct{ Components []component }
	if err := json.Unmarshal(text, &listed); err != nil {
		return fmt.Errorf("cannot read %s: %w", bill, err)
	}
	var missing []error
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return err
		}
		names := unlisted(listed.Components, info)
		for _, name := range names {
			missing = append(missing, fmt.Errorf("%s contains %s, which %s does not list", program, name, bill))
		}
		fmt.Printf("%s lists %d of the %d components of %s\n", bill, len(info.Deps)+1-len(names), len(info.Deps)+1, program)
	}
	return errors.Join(missing...)
}

// unlisted returns the modules of a program, and the standard library, that are not among the
// components.
func unlisted(list []component, info *buildinfo.BuildInfo) (names []string) {
	known := map[string]bool{}
	for _, c := range list {
		known[c.Name+" "+c.Version] = true
	}
	need := []string{"std " + strings.TrimPrefix(info.GoVersion, "go")}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		need = append(need, m.Path+" "+m.Version)
	}
	return slices.DeleteFunc(need, func(name string) bool { return known[name] })
}
