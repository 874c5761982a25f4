package revision

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/lazyregexp"
)

// The official SDK for TypeScript, version 1, compiles the output schemas of all tools when it lists
// them, and refuses the whole list if one is not valid.

// keywords are the kinds of value that keywords of JSON Schema require. Other keywords are ignored.
var keywords = map[string]func(value any) bool{
	"type":                  isType,
	"enum":                  func(v any) bool { list, ok := v.([]any); return ok && len(list) > 0 },
	"required":              areStrings,
	"properties":            isObject,
	"patternProperties":     isObject,
	"$defs":                 isObject,
	"definitions":           isObject,
	"dependentSchemas":      isObject,
	"dependentRequired":     isObject,
	"dependencies":          isObject,
	"allOf":                 areSchemas,
	"anyOf":                 areSchemas,
	"oneOf":                 areSchemas,
	"prefixItems":           areSchemas,
	"items":                 func(v any) bool { return isSchema(v) || areSchemas(v) },
	"additionalItems":       isSchema,
	"additionalProperties":  isSchema,
	"unevaluatedItems":      isSchema,
	"unevaluatedProperties": isSchema,
	"propertyNames":         isSchema,
	"contains":              isSchema,
	"not":                   isSchema,
	"if":                    isSchema,
	"then":                  isSchema,
	"else":                  isSchema,
	"pattern":               isPlainPattern,
	"format":                isText,
	"$ref":                  isText,
	"$id":                   isText,
	"minimum":               isNumber,
	"maximum":               isNumber,
	"exclusiveMinimum":      isNumber,
	"exclusiveMaximum":      isNumber,
	"multipleOf":            isNumber,
	"minLength":             isNumber,
	"maxLength":             isNumber,
	"minItems":              isNumber,
	"maxItems":              isNumber,
	"minProperties":         isNumber,
	"maxProperties":         isNumber,
	"uniqueItems":           isBool,
	"nullable":              isBool,
}

func isBool(v any) bool   { _, ok := v.(bool); return ok }
func isText(v any) bool   { _, ok := v.(string); return ok }
func isObject(v any) bool { _, ok := v.(map[string]any); return ok }
func isSchema(v any) bool { _, ok := v.(bool); return ok || isObject(v) }

func isNumber(v any) bool {
	switch v.(type) {
	case int64, float64:
		return true
	}
	return false
}

func areStrings(v any) bool {
	list, ok := v.([]any)
	return ok && !slices.ContainsFunc(list, func(one any) bool { return !isText(one) })
}

func areSchemas(v any) bool {
	list, ok := v.([]any)
	return ok && len(list) > 0 && !slices.ContainsFunc(list, func(one any) bool { return !isSchema(one) })
}

func isType(v any) bool {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	names := []any{"string", "number", "integer", "boolean", "null", "object", "array"}
	return len(list) > 0 && !slices.ContainsFunc(list, func(one any) bool { return !slices.Contains(names, one) })
}

// plainPattern matches a sequence of tokens that regular expressions of Go and of JavaScript with
// Unicode have in common, and lookaheads. In JavaScript many other escapes and braces are errors.
var plainPattern = lazyregexp.New(`^(?:` + escape + `|\[\^?-?(?:` + escape + `|[^\\\][-](?:-[^\\\][-])?)*-?\]|(?:[*+?]|\{\d+(?:,\d*)?\})\??|\(\?[:=!]|[()|.^$]|[^\\^$.*+?()[\]{}|])*$`)

const escape = `\\[dDwWsSbBnrtfv/\\^$.*+?()[\]{}|]`

var (
	simpleLookahead = lazyregexp.New(`\(\?[=!][^()]*\)`)
	repeatedGroup   = lazyregexp.New(`\)[*+?{]`)
	repeatedAnchor  = lazyregexp.New(`(?:\^|\$)[*+?{]`) // also an error in JavaScript
	groupStart      = strings.NewReplacer("(?=", "(", "(?!", "(", "(?:", "(")
)

// isPlainPattern reports whether a regular expression is certainly valid in JavaScript.
func isPlainPattern(v any) bool {
	pattern, ok := v.(string)
	if !ok || !plainPattern().MatchString(pattern) || strings.Contains(groupStart.Replace(pattern), "(?") {
		return false
	}
	// A lookahead cannot be repeated.
	rest := simpleLookahead().ReplaceAllString(pattern, "^")
	if repeatedAnchor().MatchString(rest) || groupStart.Replace(rest) != strings.ReplaceAll(rest, "(?:", "(") && repeatedGroup().MatchString(rest) {
		return false
	}
	_, err := regexp.Compile(groupStart.Replace(pattern))
	return err == nil
}

// outputProblem returns why clients may be unable to compile a decoded output schema, as a clause,
// or "".
func outputProblem(schema any) string {
	root, ok := schema.(map[string]any)
	if !ok {
		return ""
	}
	return schemaProblem(root, root, 0)
}

const maxSchemaDepth = 100

func schemaProblem(root, schema map[string]any, depth int) string {
	if depth > maxSchemaDepth {
		return "is nested too deep"
	}
	for key, value := range schema {
		if valid := keywords[key]; valid != nil && !valid(value) {
			return fmt.Sprintf("has a %q that is not valid", key)
		}
		problem := ""
		switch {
		case key == "$ref" && !resolves(root, value.(string)):
			return `has a "$ref" that leads nowhere`
		case key == "$id" && depth > 0:
			return `has an "$id" in a part of it`
		case key == "nullable" && schema["type"] == nil, key == "id", key != "format" && strings.HasPrefix(key, "format"):
			return fmt.Sprintf("has a %q that some validators do not support", key)
		case positions[key] == dataPosition:
		case positions[key] == namesPosition:
			parts, _ := value.(map[string]any)
			for name, part := range parts {
				if key == "patternProperties" && !isPlainPattern(name) {
					return "has a pattern that is not valid"
				}
				if !isSchema(part) && key != "dependencies" {
					return fmt.Sprintf("has a %q that is not valid", key)
				}
				if inner, ok := part.(map[string]any); ok && problem == "" {
					problem = schemaProblem(root, inner, depth+1)
				}
			}
		case keywords[key] != nil:
			list, ok := value.([]any)
			if !ok {
				list = []any{value}
			}
			for _, part := range list {
				if inner, ok := part.(map[string]any); ok && problem == "" {
					problem = schemaProblem(root, inner, depth+1)
				}
			}
		}
		if problem != "" {
			return problem
		}
	}
	return ""
}

// resolves reports whether a reference leads to a part of its document.
func resolves(root map[string]any, ref string) bool {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok || path != "" && path[0] != '/' || strings.Contains(path, "%") {
		return false
	}
	var at any = root
	for _, name := range strings.Split(path, "/")[1:] {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		switch v := at.(type) {
		case map[string]any:
			at = v[name]
		case []any:
			n, err := strconv.Atoi(name)
			if err != nil || n < 0 || n >= len(v) {
				return false
			}
			at = v[n]
		default:
			return false
		}
	}
	return isSchema(at)
}
