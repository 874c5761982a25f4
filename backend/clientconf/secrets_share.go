package clientconf

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// ReplaceSecrets returns an entry of our configuration with each literal secret replaced by a
// reference, and the names of all references in it. It stores no values. Secrets are
// recognized by name or form at any depth, also in an invalid entry. known, if not nil,
// reports whether a text contains a secret that is stored elsewhere.
func ReplaceSecrets(label string, entry json.RawMessage, known func(text string) bool) (out json.RawMessage, names []string, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(entry, &members); err != nil {
		return nil, nil, err
	}
	h := &secretExtractor{label: label, values: map[string]string{}, nameTaken: func(string, string) bool { return false }, containsKnown: known}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if members[key], err = h.extractRaw(key, members[key]); err != nil {
			return nil, nil, err
		}
	}
	names = slices.Sorted(maps.Keys(h.values))
	out, err = json.Marshal(members)
	for _, m := range secretRef().FindAllStringSubmatch(string(out), -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return out, names, err
}

// extractRaw replaces the secrets anywhere in a value, such as oauth.clientSecret. A value without
// secrets keeps its bytes.
func (h *secretExtractor) extractRaw(key string, raw json.RawMessage) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	before := h.replaced
	value = h.extractDecoded(key, value, nil)
	if h.replaced == before {
		return raw, nil
	}
	return json.Marshal(value)
}

// extractDecoded replaces the secrets in a decoded value, and calls changed for each text that
// differs. changed may be nil.
func (h *secretExtractor) extractDecoded(key string, value any, changed func(old, now string)) any {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			v[name] = h.extractDecoded(name, v[name], changed)
		}
	case []any:
		if key == "args" {
			h.extractArgList(v)
			break
		}
		for i := range v {
			v[i] = h.extractDecoded("", v[i], changed)
		}
	case string:
		now := v
		if (key == "url" || key == "httpUrl") && !h.isKnown(v) {
			now = h.extractURL(v)
		} else {
			now = h.extractValue(key, v)
		}
		if now != v && changed != nil {
			changed(v, now)
		}
		return now
	}
	return value
}

// extractArgList is args for a list that may contain values other than strings.
func (h *secretExtractor) extractArgList(all []any) {
	words := make([]string, len(all))
	for i, one := range all {
		words[i], _ = one.(string)
	}
	h.extractArgs(words)
	for i, one := range all {
		if _, is := one.(string); is {
			all[i] = words[i]
		} else {
			all[i] = h.extractDecoded("args", one, nil)
		}
	}
}
