package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// toolCorpus are definitions of real tools, which the tests of the search use as well.
const toolCorpus = "backend/registry/testdata/tool-search-500-tools.jsonl"

// toolCosts generates the table of the tokens that lists of the corpus have, by client and mode. Clients
// with the same numbers share a row.
func toolCosts() (string, error) {
	views, err := corpusViews()
	if err != nil {
		return "", err
	}
	var rows []string
	clients := map[string][]string{}
	add := func(name string, limits bridge.ClientLimits) {
		view := views.WithNameLimit(limits.Name)
		cost := bridge.CostOf(view, limits, "")
		chosen, _ := bridge.AutoMode(view, limits, "")
		row := ""
		for _, mode := range []string{"", bridge.ToolsSearch, bridge.ToolsDeferred} {
			row += fmt.Sprintf("%d | ", bridge.EstimateTokens(cost.Lists[mode]))
		}
		row += cmp.Or(chosen, config.ToolsAll)
		if clients[row] == nil {
			rows = append(rows, row)
		}
		clients[row] = append(clients[row], name)
	}
	for _, c := range clientconf.Known() {
		if c.Limits.Source != "" {
			add(c.ID, bridge.ClientLimits{Name: c.MaxToolName, Description: c.Limits.Description, PinKey: c.Limits.PinKey, PinnedDescription: c.Limits.PinnedDescription, SearchesItself: c.Limits.SearchesItself})
		}
	}
	add("all others", bridge.ClientLimits{})
	text := "\n## Tokens of the tool list\n\nThe list of 500 tools of 45 servers by [tool mode](profiles.md#too-many-tools), and the choice of `auto`:\n\n| client | all | search | deferred | auto |\n|---|---|---|---|---|\n"
	for _, row := range rows {
		text += "| " + strings.Join(clients[row], ", ") + " | " + row + " |\n"
	}
	return text, nil
}

func corpusViews() (*registry.Registry, error) {
	root := "."
	for range 3 { // the test runs in its own folder
		if _, err := os.Stat(filepath.Join(root, toolCorpus)); err == nil {
			break
		}
		root = filepath.Join("..", root)
	}
	file, err := os.Open(filepath.Join(root, toolCorpus))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	catalogs := map[string]*core.Catalog{}
	var order []registry.Server
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var one struct {
			Server string
			Tool   json.RawMessage
		}
		var tool struct{ Name string }
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(one.Tool, &tool); err != nil {
			return nil, err
		}
		if catalogs[one.Server] == nil {
			catalogs[one.Server] = &core.Catalog{}
			order = append(order, registry.Server{ID: one.Server})
		}
		c := catalogs[one.Server]
		c.Tools = append(c.Tools, core.Item{Name: tool.Name, Raw: one.Tool})
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	views := registry.New(registry.Options{})
	views.Configure(registry.Prefixed, order)
	for id, c := range catalogs {
		views.Set(id, "", c)
	}
	return views, nil
}
