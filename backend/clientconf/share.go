package clientconf

import (
	"bytes"
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
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if slices.Contains([]string{"env", "headers", "args", "url", "httpUrl"}, key) {
			continue
		}
		if all[key], err = h.deep(key, all[key]); err != nil {
			return nil, nil, err
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

// deep hides what is secret by its name or form anywhere in a value, such as
// oauth.clientSecret. One that holds none keeps its bytes.
func (h *hiding) deep(key string, raw json.RawMessage) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	before := len(h.values)
	value = h.within(key, value)
	if len(h.values) == before {
		return raw, nil
	}
	return json.Marshal(value)
}

func (h *hiding) within(key string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			v[name] = h.within(name, v[name])
		}
	case []any:
		for i := range v {
			v[i] = h.within("", v[i])
		}
	case string:
		if isSecret(key, v) {
			return h.put(key, v)
		}
	}
	return value
}
