package config

import "github.com/drawbridge-mcp/drawbridge/backend/core"

// CheckEditable returns why Drawbridge cannot edit a file with the content src: only JSON objects can
// be edited without changing the text around the edit.
func CheckEditable(file string, src []byte) error {
	if IsYAML(file) {
		return &core.Error{Code: core.CodeRejected, Message: "cannot edit " + file + ": it is YAML", Hint: "Edit it in a text editor; it is reloaded when you save it."}
	}
	root, problem := tree(file, src)
	if problem == nil && root.kind != kindObject {
		problem = refuse(root.at, "a configuration must be an object, not "+root.kind.String(), "")
	}
	if problem != nil {
		return EditError(*problem)
	}
	return nil
}

// EditError is the error for a file that cannot be edited because of a problem in it.
func EditError(p Problem) error {
	return &core.Error{Code: core.CodeValidation, Message: "cannot edit " + p.String(),
		Hint: `Correct the file in a text editor; "drawbridge validate" lists its errors.`}
}
