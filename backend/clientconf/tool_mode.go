package clientconf

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/config"
)

// newToolMode is the setting in our configuration that a client gets when it is connected for the first
// time.
const newToolMode = `{"toolMode":"` + config.ToolsAuto + `"}`

// addToolMode adds newToolMode for a client that is connected for the first time, by an entry for all
// servers. A client that was connected before, that has settings, or whose user has chosen the tool mode
// of a profile stays as it is. If the configuration cannot be edited, the client is connected without it,
// and a warning says so.
func (p *Plan) addToolMode(c *Connector) {
	if c.config == "" || p.Action != Create && p.Action != Add || len(p.choice.Servers) > 0 {
		return
	}
	records, err := c.records()
	for _, r := range records {
		if r.Choice.Client == p.Client.ID {
			return
		}
	}
	o := p.config
	if err == nil && o == nil {
		o, err = c.openConfig()
	}
	if err == nil {
		err = o.setToolMode(p.Client.ID)
	}
	switch {
	case err != nil:
		p.Warnings = append(p.Warnings, "Drawbridge lists all tools to "+p.Client.Name+", because its own configuration cannot be edited: "+err.Error()+".")
	case p.config == nil && !o.isEmpty():
		p.config = o
		p.Diff += Diff(o.Path, o.before, o.after)
	}
}

// setToolMode adds newToolMode for a client, unless the user has chosen how tools are listed.
func (o *configChange) setToolMode(client string) error {
	now, problems := config.Parse(o.Path, o.after)
	if now == nil || slices.ContainsFunc(problems, func(p config.Problem) bool { return !p.Warning && p.Server == "" }) {
		return errors.New("it has errors")
	}
	if _, known := now.Clients[client]; known || slices.ContainsFunc(now.Profiles, func(p config.Profile) bool { return p.ToolMode != "" }) {
		return nil
	}
	file, row, err := parseConfig(o.Path, o.after)
	if err != nil {
		return err
	}
	setting := edit{[]string{"clients"}, client, json.RawMessage(newToolMode)}
	after, err := file.set(setting.path, setting.name, setting.value)
	if err != nil {
		return err
	}
	if err := (&Plan{Client: row}).verifyEdits(o.after, after, []edit{setting}); err != nil {
		return err
	}
	o.after, o.ToolMode, o.PostHash = after, client, hashBytes(after)
	return nil
}

// withoutToolMode returns our configuration without the tool mode that was set, unless the user has
// changed the settings of the client.
func (o *configChange) withoutToolMode(content []byte) ([]byte, error) {
	if o.ToolMode == "" {
		return content, nil
	}
	file, _, err := parseConfig(o.Path, content)
	if err != nil {
		return nil, err
	}
	path := []string{"clients"}
	_, value, err := file.entry(path, o.ToolMode)
	if err != nil || value == nil || !sameJSON(value, json.RawMessage(newToolMode)) {
		return content, err
	}
	if content, err = file.remove(path, o.ToolMode); err != nil {
		return nil, err
	}
	if file, _, err = parseConfig(o.Path, content); err != nil {
		return nil, err
	}
	if m, err := file.decode(); err != nil || !isEmptyAt(m, path) {
		return content, err
	}
	content, err = file.remove(nil, path[0])
	return content, err
}
