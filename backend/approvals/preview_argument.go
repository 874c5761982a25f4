package approvals

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/wire"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Names of boolean arguments with which a tool changes nothing, in lower case and without separators. The others mean
// that only if their description says so.
var (
	previewNames         = []string{"dryrun", "isdryrun", "dryrunonly", "previewonly", "validateonly", "checkonly", "planonly", "whatif", "simulateonly"}
	possiblePreviewNames = []string{"preview", "simulate", "simulation", "validate", "check", "plan", "noop", "dry", "test", "testmode", "reportonly", "diffonly", "showdiff"}
)

var saysNothingChanges = regexp.MustCompile(`(?i)dry[- ]?run|without (actually |really )?(ma(k|d)|appl|chang|writ|sav|execut|delet|creat|send|perform|modif|commit|updat|runn)|(not|n't) (be |actually |really )*(ma(k|d)|appl|chang|writ|sav|execut|delet|creat|send|perform|modif|commit|updat|ran?|run)|no changes|what would|would (be|change|happen|do)|only (preview|validat|simulat|show|check|report)`)

// previewArgument returns the boolean argument with which a tool changes nothing, or "". setting is that of the tool in
// the configuration, or "".
func previewArgument(definition []byte, setting string) string {
	switch setting {
	case "":
	case config.PreviewOff:
		return ""
	default:
		return setting
	}
	var tool struct {
		InputSchema struct {
			Properties map[string]json.RawMessage
		}
	}
	_ = json.Unmarshal(definition, &tool)
	found, sure := "", false
	for name, raw := range tool.InputSchema.Properties {
		var p struct {
			Type        any
			Description string
			AnyOf       []struct{ Type any }
		}
		if json.Unmarshal(raw, &p) != nil {
			continue
		}
		boolean := isBoolean(p.Type)
		for _, one := range p.AnyOf {
			boolean = boolean || isBoolean(one.Type)
		}
		plain := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
		known := slices.Contains(previewNames, plain)
		if !boolean || !known && !(slices.Contains(possiblePreviewNames, plain) && saysNothingChanges.MatchString(p.Description)) {
			continue
		}
		if found == "" || known && !sure || known == sure && name < found {
			found, sure = name, known
		}
	}
	return found
}

func isBoolean(kind any) bool {
	list, _ := kind.([]any)
	return kind == "boolean" || slices.Contains(list, any("boolean"))
}

// withArgument returns arguments, a JSON object, with the argument set to true. set reports whether it already was.
func withArgument(arguments []byte, name string) (changed []byte, set bool) {
	changed = append([]byte{'{'}, wire.AppendString(nil, name)...)
	changed = append(changed, ":true"...)
	err := wire.Members(arguments, func(m wire.Member) error {
		if string(m.Name) == name {
			set = string(wire.Bytes(arguments, m.Value)) == "true"
			return nil
		}
		changed = append(append(changed, ','), arguments[m.Key.Start:m.Value.End]...)
		return nil
	})
	if err != nil {
		return nil, true
	}
	return append(changed, '}'), set
}
