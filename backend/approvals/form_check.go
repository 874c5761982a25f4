package approvals

import (
	"net/url"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/schema"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// isWebURL reports whether text is an http or https URL without credentials, which is safe to
// open.
func isWebURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil
}

// validateForm validates content against the schema of a form and returns the invalid fields. An
// unsupported schema is left to the server, which has to validate the answer anyway.
func validateForm(form string, content []byte) []core.FieldError {
	value, err := wire.Decode(content)
	if _, object := value.(map[string]any); err != nil || !object {
		return []core.FieldError{{Field: "content", Error: "must be an object"}}
	}
	wrong := schema.Compile([]byte(form)).Check(value)
	for i := range wrong {
		wrong[i].Field = strings.TrimSuffix("content."+wrong[i].Field, ".")
	}
	return wrong
}
