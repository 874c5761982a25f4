package clientconf

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"
)

// Vault stores secrets outside of our configuration. *secret.Store implements it.
type Vault interface {
	Get(ctx context.Context, name string) (string, error)
	SetAll(ctx context.Context, values map[string]string) error
	Remove(ctx context.Context, names ...string) (ok bool, err error)
}

var invalidNameChars = osutil.LazyRegexp(`[^A-Za-z0-9._-]+`)

// secretExtractor replaces the literal secrets of one server by references to a vault.
type secretExtractor struct {
	redact.Replacer
	label     string
	nameTaken func(name, value string) bool // the name is in use for another value
	values    map[string]string
}

func newSecretExtractor(label string, nameTaken func(name, value string) bool) *secretExtractor {
	h := &secretExtractor{label: label, nameTaken: nameTaken, values: map[string]string{}}
	h.Replace = h.store
	return h
}

// store stores value under a name derived from key, and returns the reference to it.
func (h *secretExtractor) store(key, value string) string {
	base := strings.Trim(invalidNameChars().ReplaceAllString(h.label+"."+key, "-"), ".-_")
	name := base
	for n := 2; h.nameTaken(name, value) || h.values[name] != "" && h.values[name] != value; n++ {
		name = base + "-" + strconv.Itoa(n)
	}
	h.values[name] = value
	return "${secret:" + name + "}"
}

// extractSecrets replaces the literal secrets of every new server by references. The values stay in
// the import until it is applied.
func extractSecrets(vault Vault, all []ImportedServer) error {
	if vault == nil {
		return nil
	}
	values := map[string]string{} // shared, because two servers may have the same label
	for n := range all {
		i := &all[n]
		if i.SkipReason != "" {
			continue
		}
		e := &configEntry{}
		if err := json.Unmarshal(i.literal, e); err != nil {
			return err
		}
		h := newSecretExtractor(i.Label, func(name, value string) bool {
			if other, ok := values[name]; ok {
				return other != value
			}
			old, err := vault.Get(context.Background(), name)
			return err == nil && old != value
		})
		for _, key := range i.secretKeys {
			for _, table := range []map[string]string{e.Env, e.Headers} {
				if value, ok := table[key]; ok {
					table[key] = h.Whole(key, value)
				}
			}
		}
		h.Map(e.Env)
		h.Map(e.Headers)
		if value, _ := e.OAuth["clientSecret"].(string); value != "" && !strings.Contains(value, "${") {
			e.OAuth["clientSecret"] = h.Whole("clientSecret", value)
		}
		before := len(h.values)
		h.Args(e.Args)
		if len(h.values) > before && !i.Exists {
			i.Notes = append(i.Notes, "While it runs, other programs can still read the secret in its arguments")
		}
		e.URL = h.URL(e.URL)
		if len(h.values) == 0 {
			continue
		}
		if !i.Exists { // of one that does, nothing is stored, but a review shows no secret of it
			maps.Copy(values, h.values)
			i.secretValues = h.values
			i.SecretNames = slices.Sorted(maps.Keys(h.values))
		}
		var err error
		if i.Entry, err = withoutSecrets(e, i.literal); err != nil {
			return err
		}
	}
	return nil
}

// withoutSecrets returns plain with those values of e that may have contained secrets. Keys that
// configEntry does not have, or not completely, stay.
func withoutSecrets(e *configEntry, plain json.RawMessage) (json.RawMessage, error) {
	raw, err := core.EncodeJSON(e)
	if err != nil {
		return nil, err
	}
	others, err := decodeObject(plain)
	if err != nil || !hasUnknownKeys(others) {
		return raw, err
	}
	ours, err := decodeObject(raw)
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"args", "env", "url", "headers", "oauth"} {
		if ours[key] != nil {
			others[key] = ours[key]
		}
	}
	return core.EncodeJSON(others)
}

// configEntryKeys are the JSON keys of configEntry whose values it can hold completely.
var configEntryKeys = []string{"type", "command", "args", "env", "inheritEnv", "cwd", "url", "headers", "oauth", "includeTools", "excludeTools", "approval", "startupTimeoutMs", "requestTimeoutMs", "disabled"}

func hasUnknownKeys(entry map[string]any) bool {
	for key := range entry {
		if !slices.Contains(configEntryKeys, key) {
			return true
		}
	}
	return false
}

var secretRef = osutil.LazyRegexp(`\$\{secret:([^}:]+)\}`)

// expandSecrets returns an entry of our configuration with references to secrets expanded, for
// comparison with the entries of clients. Secrets that cannot be read stay references.
func expandSecrets(vault Vault, entry json.RawMessage) json.RawMessage {
	if vault == nil {
		return entry
	}
	return json.RawMessage(secretRef().ReplaceAllStringFunc(string(entry), func(ref string) string {
		value, err := vault.Get(context.Background(), secretRef().FindStringSubmatch(ref)[1])
		if err != nil {
			return ref
		}
		return jsonStringContent(value)
	}))
}

// storeSecrets stores the secrets of an import. If a name has another value in the vault, it
// returns a conflict and stores nothing.
func (o *configChange) storeSecrets(ctx context.Context) error {
	if len(o.secretValues) == 0 {
		return nil
	}
	for name, value := range o.secretValues {
		old, err := o.vault.Get(ctx, name)
		switch {
		case err == nil && old != value:
			return core.Errorf(core.CodeConflict, "the secret %q has changed since the preview: review the change again", name)
		case err != nil && core.CodeOf(err) != core.CodeNotFound:
			return err
		}
	}
	return o.vault.SetAll(ctx, o.secretValues)
}

// deleteSecrets deletes those of the named secrets that our configuration no longer refers to.
func (o *configChange) deleteSecrets(ctx context.Context, names []string) error {
	if o.vault == nil || len(names) == 0 {
		return nil
	}
	now, _, err := readFile(o.Path)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return strings.Contains(string(now), "${secret:"+name+"}") || strings.Contains(string(now), "${secret:"+name+":-")
	})
	_, err = o.vault.Remove(ctx, names...)
	return err
}
