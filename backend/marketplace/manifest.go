package marketplace

import (
	"encoding/json"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// Manifest holds the fields of a bundle's manifest.json that are used.
type Manifest struct {
	Version     string `json:"manifest_version"`
	Dxt         string `json:"dxt_version"`
	Name        string `json:"name"`
	DisplayName string `json:"display_name"`
	Release     string `json:"version"`
	Description string `json:"description"`
	Author      struct {
		Name string `json:"name"`
	} `json:"author"`
	Server struct {
		Type   string `json:"type"`
		Entry  string `json:"entry_point"`
		Config launch `json:"mcp_config"`
	} `json:"server"`
	Compatibility struct {
		Platforms []string `json:"platforms"`
	} `json:"compatibility"`
	UserConfig map[string]setting `json:"user_config"`
}

type launch struct {
	Command   string            `json:"command"`
	Args      []string          `json:"args"`
	Env       map[string]string `json:"env"`
	Platforms map[string]launch `json:"platform_overrides"`
}

// setting is a value that a bundle asks for. Default and the bounds may have any JSON type.
type setting struct {
	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Required    bool            `json:"required"`
	Default     json.RawMessage `json:"default"`
	Multiple    bool            `json:"multiple"`
	Sensitive   bool            `json:"sensitive"`
}

// currentPlatform returns the name of this operating system in manifests.
func currentPlatform() string {
	if runtime.GOOS == "windows" {
		return "win32"
	}
	return runtime.GOOS
}

var bundleNamePattern = osutil.LazyRegexp(`^[A-Za-z0-9][A-Za-z0-9._ -]{0,63}$`)

func (b *Bundle) check() error {
	m := &b.Manifest
	switch {
	case m.Version == "" && m.Dxt == "" || len(m.Version+m.Dxt) > 10 || !strings.HasPrefix(m.Version+m.Dxt, "0."):
		return validationErrorf("the bundle's manifest has the unsupported version %q", truncate(m.Version+m.Dxt))
	case !bundleNamePattern().MatchString(m.Name):
		return validationErrorf("%q is not a valid bundle name", truncate(m.Name))
	case !versionPattern().MatchString(m.Release):
		return validationErrorf("%q is not a valid bundle version", truncate(m.Release))
	case len(m.Compatibility.Platforms) > 0 && !slices.Contains(m.Compatibility.Platforms, currentPlatform()):
		return validationErrorf("the bundle is for %s, not for this system", truncate(strings.Join(m.Compatibility.Platforms, ", ")))
	case len(m.UserConfig) > maxInputs || len(m.Server.Config.Args) > maxInputs || len(m.Server.Config.Env) > maxInputs:
		return validationErrorf("the bundle has more than %d inputs", maxInputs)
	}
	for _, s := range []string{m.DisplayName, m.Description, m.Author.Name} {
		if err := checkText("text of the bundle", s); err != nil {
			return err
		}
	}
	b.Fields = []Field{}
	for _, key := range slices.Sorted(maps.Keys(m.UserConfig)) {
		s := m.UserConfig[key]
		if !variableNamePattern().MatchString(key) {
			return validationErrorf("%q is not a valid setting name", truncate(key))
		}
		if !slices.Contains([]string{"string", "number", "boolean", "directory", "file"}, s.Type) {
			return validationErrorf("the setting %s has the unknown type %q", key, truncate(s.Type))
		}
		for _, t := range []string{s.Title, s.Description} {
			if err := checkText("text of the setting "+key, t); err != nil {
				return err
			}
		}
		f := Field{Key: key, Label: s.Title, Description: s.Description, Required: s.Required, Secret: s.Sensitive, Multiple: s.Multiple,
			Format: map[string]string{"file": "filepath"}[s.Type], Default: defaultText(s.Default)}
		if f.Format == "" {
			f.Format = s.Type
		}
		if f.Label == "" {
			f.Label = key
		}
		b.Fields = append(b.Fields, f)
	}
	_, err := b.launchCommand("/bundle", func(key string) ([]string, error) { return []string{""}, nil })
	return err
}

// defaultText returns a default as text, with one list element per line. It keeps placeholders.
func defaultText(raw json.RawMessage) string {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		var all []string
		for _, one := range list {
			all = append(all, defaultText(one))
		}
		return strings.Join(all, "\n")
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if t := strings.TrimSpace(string(raw)); t != "null" && len(t) < 100 {
		return t
	}
	return ""
}
