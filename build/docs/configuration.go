package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/config"
)

// property is the part of a JSON schema that the reference uses.
type property struct {
	Type        any                 `json:"type"`
	Enum        []any               `json:"enum"`
	Default     any                 `json:"default"`
	Description string              `json:"description"`
	Ref         string              `json:"$ref"`
	Minimum     *json.Number        `json:"minimum"`
	Maximum     *json.Number        `json:"maximum"`
	Items       *property           `json:"items"`
	Properties  orderedProperties   `json:"properties"`
	Additional  json.RawMessage     `json:"additionalProperties"`
	Defs        map[string]property `json:"$defs"`
}

// valueSchema returns the schema of the values in an object with arbitrary keys.
func (p property) valueSchema() (inner property) {
	_ = json.Unmarshal(p.Additional, &inner) // fails for false, which means that there are none
	return inner
}

// orderedProperties are properties in the order of the file, which is chosen for readers.
type orderedProperties []namedProperty

type namedProperty struct {
	name string
	property
}

func (o *orderedProperties) UnmarshalJSON(src []byte) error {
	d := json.NewDecoder(bytes.NewReader(src))
	if _, err := d.Token(); err != nil { // {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		var p property
		if err := d.Decode(&p); err != nil {
			return err
		}
		*o = append(*o, namedProperty{key.(string), p})
	}
	return nil
}

const configurationHead = mark + `# Configuration

All keys of the configuration, generated from ` + "`config/schema.json`" + `, which editors use for completion. [Server entries and configuration files](MCP_SETUP.md)
describes how the files are found, merged and watched; ` + "[config/examples](../config/examples)" + ` contains complete files.

Unknown keys cause warnings with a suggestion, and invalid values cause errors; ` + "`drawbridge validate`" + ` shows both with line and column.
` + "`${VAR}`, `${VAR:-default}`, `${env:VAR}` and `${secret:NAME}`" + ` in strings are replaced by their values each time a server starts. Keys that end
in Ms are times in milliseconds, at most 86400000, which is a day. In parentheses: the value (a string if there is none) and the default.
`

// configuration generates the reference of all keys.
func configuration() ([]byte, error) {
	var root property
	d := json.NewDecoder(bytes.NewReader(config.Schema()))
	if err := d.Decode(&root); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(configurationHead)
	var top, later []namedProperty
	for _, p := range root.Properties {
		if len(p.Properties) > 0 {
			later = append(later, p)
		}
		top = append(top, p)
	}
	b.WriteString("\n## The file\n\n")
	described := map[string]string{}
	writeKeys(&b, "The file", top, described)
	for _, p := range later {
		p.Description = "" // the list above has it
		writeSection(&b, 2, p.name, p.property, described)
	}
	for _, name := range []string{"server", "tool", "retry", "breaker", "rateLimit", "concurrency", "sandbox", "account", "profile", "profileServer", "client", "clientResults", "argumentRule", "argumentCondition", "argumentTest"} {
		p, ok := root.Defs[name]
		if !ok {
			return nil, fmt.Errorf("the schema has no %s", name)
		}
		writeSection(&b, 2, titles[name], p, described)
	}
	for name := range root.Defs {
		if titles[name] == "" && !slices.Contains([]string{"strings", "servers", "patterns", "texts"}, name) {
			return nil, fmt.Errorf("%s of the schema has no section in the reference: name it in build/docs/configuration.go", name)
		}
	}
	return b.Bytes(), nil
}

// titles are the headings of definitions that several keys share.
var titles = map[string]string{
	"server": "A server", "tool": "A tool", "retry": "retry", "breaker": "breaker", "rateLimit": "rateLimit", "concurrency": "concurrency", "sandbox": "sandbox",
	"account": "An account of a server", "profile": "A profile", "profileServer": "A server of a profile", "client": "A client", "clientResults": "Limits on results",
	"argumentRule": "An argument rule", "argumentCondition": "A condition of a rule", "argumentTest": "A test of a condition",
}

// sameAs begins the description of a key that is another name of one described elsewhere.
const sameAs = "The same as "

func writeSection(b *bytes.Buffer, level int, title string, p property, described map[string]string) {
	fmt.Fprintf(b, "\n%s %s\n\n", strings.Repeat("#", level), title)
	if p.Description != "" {
		b.WriteString(escapeCell(p.Description) + "\n\n")
	}
	writeKeys(b, title, p.Properties, described)
	for _, inner := range p.Properties {
		if each := inner.valueSchema(); len(each.Properties) > 0 {
			inner.property = each
		}
		if len(inner.Properties) > 0 && !strings.HasPrefix(inner.Description, sameAs) {
			inner.Description = "" // the key has it
			writeSection(b, level+1, title+": "+inner.name, inner.property, described)
		}
	}
}

func writeKeys(b *bytes.Buffer, section string, list []namedProperty, described map[string]string) {
	var entries []entry
	for _, p := range list {
		value := permittedValues(p.property)
		if p.Default != nil {
			value += "; " + defaultValue(p.property)
		}
		if value = " (" + value + ")"; value == " (string)" || strings.HasPrefix(p.Description, sameAs) {
			value = "" // most keys take one; the other key has it
		}
		entries = append(entries, entry{p.name, fmt.Sprintf("- `%s`%s: %s\n", p.name, value, escapeCell(p.Description))})
	}
	writeEntries(b, section, entries, described)
}

// permittedValues describes the permitted values of a property.
func permittedValues(p property) string {
	switch {
	case p.Ref != "":
		name := strings.TrimPrefix(p.Ref, "#/$defs/")
		switch name {
		case "strings":
			return "map of strings"
		case "servers":
			return "[servers](#a-server) by id, or a list of them with `name`"
		case "patterns":
			return "strings"
		case "texts":
			return "string, or list of strings"
		case "server/properties/oauth":
			return "as [oauth of a server](#a-server-oauth)"
		}
		return "[" + strings.ToLower(titles[name][:1]) + titles[name][1:] + "](#" + anchor(titles[name]) + ")"
	case len(p.Enum) > 0:
		words := make([]string, len(p.Enum))
		for i, v := range p.Enum {
			words[i] = fmt.Sprintf("`%v`", v)
		}
		return strings.Join(words, ", ")
	case len(p.Properties) > 0:
		return "object"
	}
	switch p.Type {
	case "array":
		if p.Items != nil && p.Items.Ref != "" {
			return "list: " + permittedValues(*p.Items)
		}
		if p.Items != nil && p.Items.Type == "integer" {
			return "list of numbers"
		}
		return "strings"
	case "object":
		if inner := p.valueSchema(); inner.Ref != "" {
			return permittedValues(inner) + " by name"
		}
		return "objects by name"
	case "integer", "number":
		text := "number"
		if p.Minimum != nil && p.Maximum != nil && *p.Maximum != "86400000" {
			return fmt.Sprintf("%s, %s to %s", text, *p.Minimum, *p.Maximum)
		}
		return text
	case "boolean":
		return "boolean"
	}
	return fmt.Sprint(p.Type)
}

func defaultValue(p property) string {
	switch v := p.Default.(type) {
	case float64:
		return fmt.Sprintf("%.0f", v)
	case string:
		return "`" + v + "`"
	default:
		return fmt.Sprint(v)
	}
}

func anchor(title string) string {
	return strings.ReplaceAll(strings.ToLower(title), " ", "-")
}

// escapeCell escapes a text for a cell of a table; ${…} becomes code.
func escapeCell(text string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "<", "&lt;").Replace(text)
}
