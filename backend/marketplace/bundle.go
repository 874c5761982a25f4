package marketplace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Bundle is a .mcpb file that has been checked and can be installed.
type Bundle struct {
	Manifest Manifest
	Fields   []Field
	archive  *archive
	sum      string
}

// ReadBundle checks a bundle and its manifest. It unpacks nothing and runs nothing.
func ReadBundle(src []byte) (*Bundle, error) {
	a, err := openArchive(src)
	if err != nil {
		return nil, err
	}
	raw, err := a.readFile("manifest.json", maxRecord)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(src)
	b := &Bundle{archive: a, sum: hex.EncodeToString(sum[:6])}
	if err := json.Unmarshal(raw, &b.Manifest); err != nil {
		return nil, validationErrorf("cannot read the manifest of the bundle: %v", err)
	}
	if err := CheckStrictJSON("the manifest of the bundle", raw); err != nil {
		return nil, err
	}
	return b, b.check()
}

// About describes a bundle to the user before it is unpacked.
type About struct {
	Name        string   `json:"name"`
	Title       string   `json:"title"`
	Version     string   `json:"version"`
	Description string   `json:"description"`
	Author      string   `json:"author" doc:"As claimed by the bundle"`
	Type        string   `json:"type" enum:"node,python,uv,binary"`
	Command     []string `json:"command" nullable:"false" doc:"Command line that would run, with values to be entered in angle brackets"`
	Variables   []string `json:"variables" nullable:"false" doc:"Names of the environment variables that the bundle sets"`
	Files       int      `json:"files"`
	Bytes       int64    `json:"bytes" doc:"Total unpacked size"`
	SHA256      string   `json:"sha256" doc:"First digits of the file's hash"`
	Folder      string   `json:"folder" doc:"Folder into which it would be unpacked"`
	Unpacked    bool     `json:"unpacked" doc:"Whether it is already unpacked"`
}

// About describes the bundle, which would be unpacked below folder.
func (b *Bundle) About(folder string) About {
	m := &b.Manifest
	a := About{Name: m.Name, Title: m.DisplayName, Version: m.Release, Description: m.Description, Author: m.Author.Name,
		Type: m.Server.Type, Files: len(b.archive.files), SHA256: b.sum, Folder: b.Folder(folder), Command: []string{}, Variables: []string{}}
	for _, f := range b.archive.files {
		a.Bytes += int64(f.UncompressedSize64)
	}
	if info, err := os.Stat(a.Folder); err == nil {
		a.Unpacked = info.IsDir()
	}
	made, err := b.launchCommand(a.Folder, func(key string) ([]string, error) { return []string{"<" + b.fieldLabel(key) + ">"}, nil })
	if err == nil { // cannot fail: check has already called launch
		a.Command = append([]string{made.Command}, made.Args...)
		a.Variables = append(a.Variables, slices.Sorted(maps.Keys(made.Env))...) // never nil
	}
	return a
}

func (b *Bundle) fieldLabel(key string) string {
	for _, f := range b.Fields {
		if f.Key == key {
			return f.Label
		}
	}
	return key
}

// Folder returns the directory below folder into which the bundle is unpacked. Each version and
// content has a directory of its own.
func (b *Bundle) Folder(folder string) string {
	name := core.Slug(b.Manifest.Name)
	if name == "" {
		name = "bundle"
	}
	return filepath.Join(folder, name+"-"+b.sum)
}

// Install returns the configuration entry of a bundle that is, or will be, unpacked below folder.
func (b *Bundle) Install(folder, label string, values map[string]string) (*Plan, error) {
	if label = strings.TrimSpace(label); label == "" {
		label = b.Manifest.Name
	}
	if core.Slug(label) == "" || len(label) > 64 {
		return nil, fieldError("label", "must contain a letter or digit and be at most 64 characters long")
	}
	plan := &Plan{Label: label, Secrets: map[string]string{}}
	dir := b.Folder(folder)
	made, err := b.launchCommand(dir, func(key string) ([]string, error) {
		s := b.Manifest.UserConfig[key]
		in := Input{IsRequired: s.Required, IsSecret: s.Sensitive, Format: s.Type}
		if s.Multiple {
			in.Format = "repeated"
		}
		values := map[string]string{key: values[key]}
		if values[key] == "" { // only a default may contain placeholders, and only those for directories
			values[key] = placeholderPattern().ReplaceAllStringFunc(defaultText(s.Default), func(p string) string {
				v, _ := placeholderValue(dir, p[2:len(p)-1])
				return v
			})
		}
		if !s.Sensitive { // user input is literal; a secret is not expanded in any case
			values[key] = strings.ReplaceAll(values[key], "${", "$${")
		}
		text, ok, err := resolveFromForm(label, values, plan.Secrets)(key, key, &in)
		switch {
		case err != nil || !ok:
			return nil, err
		case s.Multiple:
			return nonEmptyLines(text), nil
		}
		return []string{text}, nil
	})
	if err != nil {
		return nil, err
	}
	plan.Command = append([]string{made.Command}, made.Args...)
	plan.Entry, err = json.Marshal(struct {
		Command string            `json:"command"`
		Args    []string          `json:"args,omitempty"`
		Env     map[string]string `json:"env,omitempty"`
		Cwd     string            `json:"cwd"`
	}{made.Command, made.Args, made.Env, dir})
	return plan, err
}

// Unpack writes the bundle's files below folder. It does nothing if they are already there.
func (b *Bundle) Unpack(folder string) error {
	dir := b.Folder(folder)
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	return b.archive.unpack(dir)
}
