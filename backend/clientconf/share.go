package clientconf

import (
	"encoding/json"
	"maps"
	"slices"
)

// Shareable is an entry of ours without its literal secrets: each is replaced by a
// reference, whose names are returned. The values go nowhere.
func Shareable(label string, entry json.RawMessage) (out json.RawMessage, names []string, err error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(entry, &all); err != nil {
		return nil, nil, err
	}
	h := &hiding{label: label, values: map[string]string{}, taken: func(string, string) bool { return false }}
	for _, key := range []string{"env", "headers"} {
		var table map[string]string
		if json.Unmarshal(all[key], &table) == nil && table != nil {
			h.table(table)
			all[key], _ = json.Marshal(table)
		}
	}
	var args []string
	if json.Unmarshal(all["args"], &args) == nil && args != nil {
		h.args(args)
		all["args"], _ = json.Marshal(args)
	}
	for _, key := range []string{"url", "httpUrl"} {
		var address string
		if json.Unmarshal(all[key], &address) == nil && address != "" {
			all[key], _ = json.Marshal(h.address(address))
		}
	}
	names = slices.Sorted(maps.Keys(h.values))
	out, err = json.Marshal(all)
	for _, m := range secretRef().FindAllStringSubmatch(string(out), -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return out, names, err
}
