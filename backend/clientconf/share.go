package clientconf

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// Shareable returns an entry of our configuration with each literal secret replaced by a
// reference, and the names of all references in it. It stores no values. Secrets are
// recognized by name or form at any depth, also in an invalid entry. known, if not nil,
// reports whether a text contains a secret that is stored elsewhere.
func Shareable(label string, entry json.RawMessage, known func(text string) bool) (out json.RawMessage, names []string, err error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(entry, &all); err != nil {
		return nil, nil, err
	}
	h := &hiding{label: label, values: map[string]string{}, taken: func(string, string) bool { return false }, known: known}
	for _, key := range slices.Sorted(maps.Keys(all)) {
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

// deep replaces the secrets anywhere in a value, such as oauth.clientSecret. A value without
// secrets keeps its bytes.
func (h *hiding) deep(key string, raw json.RawMessage) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	before := h.puts
	value = h.within(key, value, nil)
	if h.puts == before {
		return raw, nil
	}
	return json.Marshal(value)
}

// within replaces the secrets in a decoded value, and calls changed for each text that
// differs. changed may be nil.
func (h *hiding) within(key string, value any, changed func(old, now string)) any {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			v[name] = h.within(name, v[name], changed)
		}
	case []any:
		if key == "args" {
			h.list(v)
			break
		}
		for i := range v {
			v[i] = h.within("", v[i], changed)
		}
	case string:
		now := v
		if (key == "url" || key == "httpUrl") && !h.keeps(v) {
			now = h.address(v)
		} else {
			now = h.word(key, v)
		}
		if now != v && changed != nil {
			changed(v, now)
		}
		return now
	}
	return value
}

// list is args for a list that may contain values other than strings.
func (h *hiding) list(all []any) {
	words := make([]string, len(all))
	for i, one := range all {
		words[i], _ = one.(string)
	}
	h.args(words)
	for i, one := range all {
		if _, is := one.(string); is {
			all[i] = words[i]
		} else {
			all[i] = h.within("args", one, nil)
		}
	}
}
