package clientconf

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/lazyregexp"
)

// legacyImports returns the servers that the client keeps, or kept, in other places:
// locations of earlier versions, and extensions of Claude Desktop. These files are only read.
// Servers that are also in the client's file are omitted.
func (c *Connector) legacyImports(p *Plan, known []ImportedServer) (all []ImportedServer) {
	if p.choice.Project != "" {
		return nil
	}
	seen := map[string]bool{}
	for _, i := range known {
		seen[i.Name] = true
	}
	add := func(found []ImportedServer, source string) {
		for _, i := range found {
			if i.Source = source; !seen[i.Name] {
				seen[i.Name] = true
				all = append(all, i)
			}
		}
	}
	for _, cand := range p.Client.Candidates[c.system.GOOS] {
		if cand.Role != "legacy" {
			continue
		}
		old := *p
		if old.Client.Format = p.Client.Format; cand.Format != "" {
			old.Client.Format = cand.Format
		}
		if len(cand.KeyPath) > 0 {
			old.Client.KeyPath, old.Client.Container = cand.KeyPath, ""
		}
		old.Client.TrailingCommas = old.Client.TrailingCommas || old.Client.Format == JSONC
		for _, path := range c.system.expand(cand.Path) {
			src, existed, err := readFile(path)
			if err != nil || !existed || path == p.target {
				continue
			}
			if m, ok := decodeFile(src, old.Client); ok {
				if m, err = cloneMap(m); err == nil {
					add(readContainer(&old, m, old.Client.KeyPath, ""), path)
				}
			}
		}
	}
	if p.Client.ID == "claude-desktop" && p.target != "" {
		dir := filepath.Join(filepath.Dir(p.target), "Claude Extensions")
		for _, i := range readExtensions(p, dir) {
			add([]ImportedServer{i}, filepath.Join(dir, i.Scope))
		}
		for n := range all {
			all[n].Scope = ""
		}
	}
	return all
}

// manifest is the part of an extension's manifest.json that is used.
type manifest struct {
	Name   string `json:"name"`
	Server struct {
		Type   string `json:"type"`
		Config struct {
			runConfig
			Platforms map[string]runConfig `json:"platform_overrides"`
		} `json:"mcp_config"`
	} `json:"server"`
	UserConfig map[string]struct {
		Type      string `json:"type"`
		Default   any    `json:"default"`
		Sensitive bool   `json:"sensitive"`
	} `json:"user_config"`
}

type runConfig struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
}

// forThisSystem returns how the extension is run on this system.
func (m *manifest) forThisSystem() runConfig {
	r := m.Server.Config.runConfig
	system := runtime.GOOS
	if system == "windows" {
		system = "win32"
	}
	o := m.Server.Config.Platforms[system]
	if o.Command != "" {
		r.Command = o.Command
	}
	if o.Args != nil {
		r.Args = o.Args
	}
	if o.Env != nil {
		r.Env = o.Env
	}
	return r
}

var bundleVar = lazyregexp.New(`\$\{([^}]*)\}`)

// readExtensions reads the bundles that are installed in Claude Desktop. It runs none of them.
func readExtensions(p *Plan, dir string) (all []ImportedServer) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		src, existed, err := readFile(filepath.Join(dir, e.Name(), "manifest.json"))
		if err != nil || !existed || len(src) > 1<<20 {
			continue
		}
		var m manifest
		if json.Unmarshal(src, &m) != nil || m.Name == "" || m.Name == EntryName {
			continue
		}
		var settings struct {
			IsEnabled  *bool          `json:"isEnabled"`
			UserConfig map[string]any `json:"userConfig"`
		}
		if s, ok, err := readFile(filepath.Join(filepath.Dir(dir), "Claude Extensions Settings", e.Name()+".json")); err == nil && ok {
			_ = json.Unmarshal(s, &settings) // an invalid file counts as absent
		}
		all = append(all, convertExtension(p, m, filepath.Join(dir, e.Name()), settings.UserConfig, settings.IsEnabled != nil && !*settings.IsEnabled))
		all[len(all)-1].Scope = e.Name()
	}
	return all
}

func convertExtension(p *Plan, m manifest, dir string, given map[string]any, disabled bool) ImportedServer {
	i := ImportedServer{Client: p.Client.ID, Name: m.Name, Label: m.Name}
	r := m.forThisSystem()
	if r.Command == "" {
		i.SkipReason = errNoServer.Error()
		return i
	}
	fixed := map[string]string{"__dirname": dir, "HOME": "${HOME}", "DESKTOP": "${HOME}/Desktop", "DOCUMENTS": "${HOME}/Documents", "DOWNLOADS": "${HOME}/Downloads", "pathSeparator": string(os.PathSeparator), "/": string(os.PathSeparator)}
	note := func(text string) {
		if !slices.Contains(i.Notes, text) {
			i.Notes = append(i.Notes, text)
		}
	}
	// values returns the values of one variable. Several values become several arguments.
	values := func(name string) []string {
		if v, ok := fixed[name]; ok {
			return []string{v}
		}
		key, ok := strings.CutPrefix(name, "user_config.")
		if !ok {
			return []string{"$${" + name + "}"}
		}
		v := given[key]
		if v == nil {
			v = m.UserConfig[key].Default
		}
		var out []string
		for _, text := range settingStrings(v) {
			if strings.HasPrefix(text, "__encrypted__") || v == nil {
				continue
			}
			out = append(out, strings.ReplaceAll(text, "${", "$${"))
		}
		if len(out) == 0 {
			variable := strings.ToUpper(strings.Trim(nonAlphanumeric().ReplaceAllString(m.Name+"_"+key, "_"), "_"))
			note("Claude Desktop keeps " + quote(key) + " for itself: set the variable " + variable)
			return []string{"${" + variable + ":-}"}
		}
		return out
	}
	fill := func(s string) string {
		return bundleVar().ReplaceAllStringFunc(s, func(ref string) string { return strings.Join(values(ref[2:len(ref)-1]), ",") })
	}
	e := configEntry{Command: fill(r.Command), Disabled: disabled, Env: map[string]string{}}
	for _, a := range r.Args {
		if m := bundleVar().FindStringSubmatch(a); m != nil && m[0] == a {
			e.Args = append(e.Args, values(m[1])...)
			continue
		}
		e.Args = append(e.Args, fill(a))
	}
	for key, value := range r.Env {
		e.Env[key] = fill(value)
	}
	note("It is an extension of Claude Desktop and stays installed there: switch it off in its settings, or it runs twice")
	i.Entry, _ = encodeJSON(e)
	i.literal = i.Entry
	return i
}

func settingStrings(v any) (all []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case bool:
		if v {
			return []string{"true"}
		}
		return []string{"false"}
	case float64:
		b, _ := json.Marshal(v)
		return []string{string(b)}
	case []any:
		for _, one := range v {
			all = append(all, settingStrings(one)...)
		}
	}
	return all
}
