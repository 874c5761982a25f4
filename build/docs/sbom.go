package main

import (
	"cmp"
	"encoding/json"
	"net/url"
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
func sbom(list []part, version string) ([]byte, error) {
	components := []component{newComponent("library", part{name: "std", version: strings.TrimPrefix(runtime.Version(), "go"), licence: "BSD-3-Clause"})}
	for _, p := range list {
		components = append(components, newComponent("library", p))
	}
	slices.SortFunc(components, func(a, b component) int { return cmp.Compare(a.Ref, b.Ref) })
	return json.MarshalIndent(map[string]any{
		"$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata":   map[string]any{"component": newComponent("application", part{name: "github.com/drawbridge-mcp/drawbridge", version: "v" + version, licence: "Apache-2.0"})},
		"components": components,
	}, "", "  ")
}

func newComponent(kind string, p part) component {
	path := "pkg:golang/" + strings.ToLower(p.name)
	if p.npm {
		path = "pkg:npm/" + strings.Replace(p.name, "@", "%40", 1)
	}
	purl := path + "@" + url.QueryEscape(p.version)
	return component{kind, purl, p.name, p.version, []license{{p.licence}}, purl}
}
