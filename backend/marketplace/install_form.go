package marketplace

import (
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// Field is an input of an installation form.
type Field struct {
	Key         string   `json:"key"`
	Label       string   `json:"label"`
	Description string   `json:"description,omitempty"`
	Required    bool     `json:"required"`
	Secret      bool     `json:"secret"`
	Default     string   `json:"default,omitempty"`
	Choices     []string `json:"choices,omitempty"`
	Format      string   `json:"format,omitempty" doc:"string, number, boolean, filepath, or directory"`
	Placeholder string   `json:"placeholder,omitempty"`
	Multiple    bool     `json:"multiple,omitempty" doc:"Accepts several values, one per line"`
}

// collectFields returns an inputResolver that collects the inputs of a form in fields and resolves
// none.
func collectFields(fields *[]Field) inputResolver {
	return func(key, what string, in *Input) (string, bool, error) {
		f := Field{Key: key, Label: what, Description: in.Description, Required: in.IsRequired, Secret: in.IsSecret, Default: in.Default,
			Choices: in.Choices, Format: in.Format, Placeholder: in.Placeholder}
		if f.Multiple = f.Format == "repeated"; f.Multiple {
			f.Format = "string"
		}
		if !slices.ContainsFunc(*fields, func(o Field) bool { return o.Key == key }) {
			*fields = append(*fields, f)
		}
		return "", false, nil
	}
}

// resolveFromForm returns an inputResolver that resolves inputs from what the user entered. It
// moves secrets to secrets and returns references to them.
func resolveFromForm(label string, values map[string]string, secrets map[string]string) inputResolver {
	return func(key, what string, in *Input) (string, bool, error) {
		text := strings.TrimSpace(values[key])
		if text == "" {
			text = in.Default
		}
		switch {
		case text == "" && in.IsRequired:
			return "", false, &MissingFields{[]string{key}, &core.Error{Code: core.CodeValidation, Message: what + " is required", Fields: []core.FieldError{{Field: key, Error: "is required"}}}}
		case text == "":
			return "", false, nil
		case len(text) > maxText, strings.ContainsFunc(text, func(c rune) bool { return c < ' ' && (c != '\n' || in.Format != "repeated") || c == 0x7f }):
			return "", false, fieldError(key, "contains control characters or is too long")
		case len(in.Choices) > 0 && !slices.Contains(in.Choices, text):
			return "", false, fieldError(key, "must be one of "+strings.Join(in.Choices, ", "))
		case in.Format == "number" && !numberPattern().MatchString(text):
			return "", false, fieldError(key, "must be a number")
		case in.Format == "boolean" && text != "true" && text != "false":
			return "", false, fieldError(key, "must be true or false")
		case strings.HasPrefix(key, "url.") && !addressPartPattern().MatchString(text):
			return "", false, fieldError(key, "may only contain letters, digits, '.', '_', '~' and '-'")
		}
		if in.IsSecret && !strings.HasPrefix(text, "${") {
			name := secretName(label, what)
			for n := 2; secrets[name] != "" && secrets[name] != text; n++ {
				name = secretName(label, what) + "_" + strconv.Itoa(n)
			}
			secrets[name] = text
			return "${secret:" + name + "}", true, nil
		}
		return text, true, nil
	}
}

// MissingFields is the error for required fields that are empty.
type MissingFields struct {
	Keys []string // Field.Key of each field
	err  error
}

func (m *MissingFields) Error() string { return m.err.Error() }

// Unwrap returns the error that is shown to the user.
func (m *MissingFields) Unwrap() error { return m.err }

func fieldError(key, text string) error {
	return &core.Error{Code: core.CodeValidation, Message: key + " " + text, Fields: []core.FieldError{{Field: key, Error: text}}}
}

var (
	numberPattern      = osutil.LazyRegexp(`^-?[0-9]{1,15}(\.[0-9]{1,15})?$`)
	addressPartPattern = osutil.LazyRegexp(`^[A-Za-z0-9._~-]+$`)
	nonAlphanumeric    = osutil.LazyRegexp(`[^A-Za-z0-9]+`)
)

func secretName(label, what string) string {
	name := strings.Trim(nonAlphanumeric().ReplaceAllString(core.Slug(label)+"_"+what, "_"), "_")
	return strings.ToUpper(name)
}
