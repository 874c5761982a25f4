package clientconf

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/lazyregexp"
)

// toolLists are the members of an entry that list tools by their old names.
var toolLists = []string{"autoApprove", "alwaysAllow", "disabledTools", "enabledTools", "includeTools", "excludeTools", "enabled_tools", "disabled_tools", "available_tools", "tools"}

var rulePattern = lazyregexp.New(`"(mcp__([A-Za-z0-9_-]+?)__[^"]*|mcp__([A-Za-z0-9_-]+))"`)

// orphanedRules returns a warning for each permission rule that refers to server i and will no
// longer match when the server is provided through the common entry.
func (c *Connector) orphanedRules(p *Plan, i ImportedServer) (all []string) {
	if m, err := decodeObject(i.original); err == nil {
		for _, key := range toolLists {
			if list, ok := m[key].([]any); ok && len(list) > 0 && !(len(list) == 1 && list[0] == "*") {
				all = append(all, i.Name+": the list "+quote(key)+" would be lost.")
			}
		}
	}
	lost := func(rule, path string) {
		if text := "the rule " + rule + " in " + path + " would no longer match."; !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	switch p.Client.ID {
	case "claude-code":
		for _, path := range c.claudeRuleFiles(p, i) {
			src, err := os.ReadFile(path)
			if err != nil {
				continue
			}
			for _, m := range rulePattern().FindAllStringSubmatch(string(src), -1) {
				if m[2] == i.Name || m[3] == i.Name {
					lost(m[1], path)
				}
			}
		}
	case "opencode", "kilo-code": // {"tools": {"NAME_*": false}, "permission": {"NAME_x": "ask"}}
		if m, ok := decodeFile(p.before, p.Client); ok {
			for _, where := range []string{"tools", "permission"} {
				rules, _ := m[where].(map[string]any)
				for _, rule := range slices.Sorted(maps.Keys(rules)) {
					if strings.HasPrefix(rule, i.Name+"_") {
						lost(rule, p.Path)
					}
				}
			}
		}
	case "gemini-cli", "qwen-code": // and formerly
		if m, ok := decodeFile(p.before, p.Client); ok {
			mcp, _ := m["mcp"].(map[string]any)
			for _, list := range []any{mcp["allowed"], mcp["excluded"], m["allowMCPServers"], m["excludeMCPServers"]} {
				if slices.Contains(stringList(list), i.Name) {
					lost(quote(i.Name), p.Path)
				}
			}
		}
	}
	return all
}

// claudeRuleFiles returns the files in which Claude Code keeps rules that may refer to i.
func (c *Connector) claudeRuleFiles(p *Plan, i ImportedServer) []string {
	files := []string{p.target}
	for _, dir := range []string{c.system.Home, i.Scope, p.choice.Project} {
		if dir != "" {
			files = append(files, filepath.Join(dir, ".claude", "settings.json"), filepath.Join(dir, ".claude", "settings.local.json"))
		}
	}
	return files
}
