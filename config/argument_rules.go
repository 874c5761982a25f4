package config

import (
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// ArgumentRule decides about calls of tools by their arguments. The first rule that applies to a
// call wins.
type ArgumentRule struct {
	Tool    string // pattern of SERVER__TOOL or of the server's own name; "" is every tool
	Servers []string
	// Clients are patterns of the names of tokens, Profiles names. Empty lists are all.
	Clients, Profiles []string
	Where             *Condition // nil: every call
	Then              string     // RuleAllow, RuleAsk or RuleDeny
	Because           string     // shown to the user and to the client
	Key               string     `json:"-"` // "policy.rules[0]"
	Source            Position   `json:"-"`
	Index             int        `json:"-"` // in its file
	Text              string     `json:"-"` // JSON on one line, as it is in its file
}

// What a rule does.
const (
	RuleAllow = "allow" // without asking
	RuleAsk   = "ask"
	RuleDeny  = "deny"
)

// Condition is one condition of a rule: exactly one of All, Any, Not and Test is set.
type Condition struct {
	All, Any []Condition
	Not      *Condition
	Pointer  []string // decoded reference tokens of a JSON pointer; "*" is each member or element
	Test     *ArgumentTest
}

// ArgumentTest is what must be true of one argument. Nil fields are unset; all others must hold.
type ArgumentTest struct {
	Glob            []string // one of these patterns matches the text
	Under, NotUnder []string // path of one of these folders, or below
	Host            []string // one of these patterns matches the host of the URL
	Matches         string   // regular expression
	Min, Max        *json.Number
	MinBytes        *int64
	MaxBytes        *int64
	Present         *bool
}

// WorkspaceRoot is the folder of a rule that stands for the client's working folder.
const WorkspaceRoot = "${" + WorkspaceFolder + "}"

const (
	maxArgumentRules  = 200
	maxConditionDepth = 20
)

// argumentRulesField reads policy.rules. The rules of a later file are appended. An unknown key is
// an error here: a rule without its condition would mean something else.
func argumentRulesField(to *[]ArgumentRule) field {
	return field{"rules", func(r *reader, name string, _ Position, n *node) {
		if n.kind != kindList {
			r.reportWrongKind(n, name, "a list of rules")
			return
		}
		outer := r.path
		defer func() { r.path = outer }()
		for i, item := range n.items {
			key := fmt.Sprintf("%s[%d]", name, i)
			r.path = outer
			if item.kind != kindObject {
				r.reportWrongKind(item, key, "an object")
				continue
			}
			r.path = join(outer, key)
			rule := ArgumentRule{Source: item.at, Index: i, Text: item.json(), Key: join("policy", fmt.Sprintf("%s[%d]", name, len(*to)))}
			if len(*to) >= maxArgumentRules {
				r.errorf(item.at, "", "there must be at most %d rules", maxArgumentRules)
				return
			}
			r.strict(item, []field{
				str("tool", &rule.Tool, validateNotBlank),
				texts("servers", &rule.Servers),
				texts("clients", &rule.Clients),
				texts("profiles", &rule.Profiles),
				{"where", func(r *reader, name string, at Position, n *node) {
					rule.Where = &Condition{}
					*rule.Where = r.condition(name, n, 0)
				}},
				oneOf("then", &rule.Then, RuleAllow, RuleAsk, RuleDeny),
				str("because", &rule.Because),
			})
			if rule.Then == "" && item.get("then") == nil {
				r.report(item.at, "then", false, "add allow, ask or deny", "'then' is missing in %s", r.path)
			}
			*to = append(*to, rule)
		}
	}}
}

// strict is object, but an unknown key is an error.
func (r *reader) strict(n *node, fields []field) {
	before := len(r.problems)
	known := make([]string, len(fields))
	for i, f := range fields {
		known[i] = f.name
	}
	r.object(n, fields)
	for i := range r.problems[before:] {
		p := &r.problems[before+i]
		if p.Warning && strings.HasPrefix(p.Message, "unknown key") {
			p.Warning = false
			if p.Suggestion == "" {
				p.Suggestion = "valid keys are " + strings.Join(known, ", ")
			}
		}
	}
}

// condition reads a where object, whose members must all hold.
func (r *reader) condition(name string, n *node, depth int) Condition {
	c := Condition{All: []Condition{}}
	if n.kind != kindObject {
		r.reportWrongKind(n, name, "an object")
		return c
	}
	if depth > maxConditionDepth {
		r.errorf(n.at, name, "'%s' is nested deeper than %d levels", name, maxConditionDepth)
		return c
	}
	outer := r.path
	r.path = join(outer, name)
	defer func() { r.path = outer }()
	seen := make(map[string]bool, len(n.members))
	for _, m := range n.members {
		if seen[m.name] {
			r.report(m.at, m.name, false, "combine them into one, or use 'all'", "key '%s' appears twice", m.name)
		}
		seen[m.name] = true
		switch {
		case m.name == "all" || m.name == "any":
			if m.value.kind != kindList || len(m.value.items) == 0 {
				r.reportWrongKind(m.value, m.name, "a non-empty list of conditions")
				continue
			}
			var parts []Condition
			for i, item := range m.value.items {
				parts = append(parts, r.condition(fmt.Sprintf("%s[%d]", m.name, i), item, depth+1))
			}
			if m.name == "all" {
				c.All = append(c.All, Condition{All: parts})
			} else {
				c.All = append(c.All, Condition{Any: parts})
			}
		case m.name == "not":
			inner := r.condition(m.name, m.value, depth+1)
			c.All = append(c.All, Condition{Not: &inner})
		case m.name == "" || strings.HasPrefix(m.name, "/"):
			tokens, ok := pointerTokens(m.name)
			if !ok {
				r.report(m.at, m.name, false, "write '~' as ~0 and '/' as ~1", "'%s' is not a JSON pointer", m.name)
			}
			c.All = append(c.All, Condition{Pointer: tokens, Test: r.argumentTest(m)})
		default:
			suggestion := "a JSON pointer starts with '/': '/" + m.name + "'"
			if near := Nearest(m.name, []string{"all", "any", "not"}); near != "" {
				suggestion = fmt.Sprintf("did you mean '%s' or '/%s'?", near, m.name)
			}
			r.report(m.at, m.name, false, suggestion, "'%s' is not a JSON pointer, all, any or not", m.name)
		}
	}
	if len(n.members) == 0 {
		r.report(n.at, "", false, "leave out 'where' if the rule applies to all arguments", "'%s' is empty", name)
	}
	return c
}

func (r *reader) argumentTest(m member) *ArgumentTest {
	t := &ArgumentTest{}
	if m.value.kind != kindObject || len(m.value.members) == 0 {
		r.reportWrongKind(m.value, m.name, "an object with at least one test")
		return t
	}
	outer := r.path
	r.path = join(outer, m.name)
	defer func() { r.path = outer }()
	r.strict(m.value, []field{
		texts("glob", &t.Glob),
		folders("under", &t.Under),
		folders("notUnder", &t.NotUnder),
		texts("host", &t.Host),
		str("matches", &t.Matches, validateRegexp),
		bound("min", &t.Min),
		bound("max", &t.Max),
		byteCount("minBytes", &t.MinBytes),
		byteCount("maxBytes", &t.MaxBytes),
		booleanSetter("present", func(on bool) { t.Present = &on }),
	})
	for i, h := range t.Host {
		pattern, suggestion := hostPattern(h)
		if t.Host[i] = pattern; suggestion != "" {
			r.report(m.value.at, "host", false, suggestion, "'%s' is not a valid host pattern", h)
		}
	}
	return t
}

func pointerTokens(pointer string) (tokens []string, ok bool) {
	if pointer == "" {
		return nil, true
	}
	tokens = strings.Split(pointer[1:], "/")
	for i, t := range tokens {
		if strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(t), "~") {
			return nil, false
		}
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~")
	}
	return tokens, true
}

// texts is a string, or a list of strings that is not empty.
func texts(name string, to *[]string) field {
	return field{name, func(r *reader, name string, at Position, n *node) {
		if n.kind == kindString && n.text != "" {
			*to = []string{n.text}
			return
		}
		before := len(r.problems)
		if list(name, to).read(r, name, at, n); len(*to) == 0 && len(r.problems) == before {
			r.errorf(n.at, name, "'%s' must not be empty", name)
		}
	}}
}

// folders is texts, each an absolute path, a path below the home folder, or one that starts with
// WorkspaceRoot.
func folders(name string, to *[]string) field {
	return field{name, func(r *reader, name string, at Position, n *node) {
		texts(name, to).read(r, name, at, n)
		for _, f := range *to {
			rest, workspace := strings.CutPrefix(f, WorkspaceRoot)
			ok := workspace && (rest == "" || rest[0] == '/' || rest[0] == filepath.Separator) ||
				f == "~" || strings.HasPrefix(f, "~/") || filepath.IsAbs(f)
			if !ok || strings.Contains(rest, "${") {
				r.report(n.at, name, false, "start it with '/', '~/' or "+WorkspaceRoot, "'%s' must be the absolute path of a folder", name)
				return
			}
		}
	}}
}

func validateRegexp(text string) string {
	if len(text) > 10*maxPattern {
		return fmt.Sprintf("must be at most %d bytes long", 10*maxPattern)
	}
	if _, err := regexp.Compile(text); err != nil {
		return fmt.Sprintf("is not a regular expression: %v", err)
	}
	return ""
}

// bound is any finite number. It keeps its text, because 0.3 has no exact 64-bit representation.
func bound(name string, to **json.Number) field {
	return field{name, func(r *reader, name string, _ Position, n *node) {
		v, err := strconv.ParseFloat(n.text, 64)
		if n.kind != kindNumber || err != nil || math.IsInf(v, 0) {
			r.reportWrongKind(n, name, "a number")
			return
		}
		number := json.Number(n.text)
		if !json.Valid([]byte(number)) { // .5 in YAML
			number = json.Number(strconv.FormatFloat(v, 'g', -1, 64))
		}
		*to = &number
	}}
}

func byteCount(name string, to **int64) field {
	return field{name, func(r *reader, name string, _ Position, n *node) {
		if v, ok := r.integer(n, name, 0, math.MaxInt64/2); ok {
			*to = &v
		}
	}}
}

// AppliesTo reports whether the servers, clients and profiles of the rule include those of a call.
// token is the name of the client's token, "" without one.
func (a *ArgumentRule) AppliesTo(server, label, token, profile string) bool {
	return (len(a.Servers) == 0 || slices.Contains(a.Servers, server) || slices.Contains(a.Servers, label)) &&
		(len(a.Profiles) == 0 || slices.Contains(a.Profiles, profile)) &&
		(len(a.Clients) == 0 || token != "" && matchesAny(a.Clients, token))
}

// ParseArgumentRules reads the rules of a configuration file, or a list of rules alone. JSON, JSONC
// and YAML are read, by the extension of file. Errors elsewhere in the file do not matter.
func ParseArgumentRules(file string, text []byte) ([]ArgumentRule, []Problem) {
	root, problem := tree(file, text)
	if problem != nil {
		return nil, []Problem{*problem}
	}
	r := &reader{}
	list := root
	if root.kind == kindObject {
		if list = root.get("policy").get("rules"); list == nil {
			return nil, []Problem{{File: file, Key: "policy.rules", Message: "the file contains no 'policy.rules'", Suggestion: "add them, or pass a list of rules"}}
		}
	}
	var rules []ArgumentRule
	r.path = "policy"
	argumentRulesField(&rules).read(r, "rules", list.at, list)
	if HasErrors(r.problems) {
		return nil, r.problems
	}
	return rules, nil
}

// ParseCondition reads a condition, as where of a rule.
func ParseCondition(text []byte) (Condition, []Problem) {
	root, problem := tree("condition.json", text)
	if problem != nil {
		return Condition{}, []Problem{*problem}
	}
	r := &reader{}
	c := r.condition("where", root, 0)
	return c, r.problems
}

// builtinServer is the id of the server that Drawbridge itself provides.
const builtinServer = "drawbridge"

// checkRuleServers warns about rules that name a server that is not configured. Names with
// wildcards are not checked, nor are tools, which are unknown while a server is stopped.
func (r *reader) checkRuleServers(c *Config) {
	known := []string{builtinServer}
	for _, s := range c.Servers {
		known = append(known, s.ID, s.Label)
		if s.Namespace != "" {
			known = append(known, s.Namespace)
		}
	}
	for _, p := range r.problems { // a server that is left out exists
		if p.Server != "" {
			known = append(known, p.Server, core.Slug(p.Server))
		}
	}
	for i := range c.Policy.Arguments {
		rule := &c.Policy.Arguments[i]
		warn := func(key, name, suggestion string) {
			if near := Nearest(name, known); near != "" {
				suggestion = fmt.Sprintf("did you mean '%s'?", near)
			}
			r.problems = append(r.problems, Problem{File: rule.Source.File, Line: rule.Source.Line, Column: rule.Source.Column, Key: rule.Key + "." + key, Warning: true,
				Message: fmt.Sprintf("%s refers to server '%s', which is not configured", rule.Key, name), Suggestion: suggestion})
		}
		for _, name := range rule.Servers {
			if !slices.Contains(known, name) {
				warn("servers", name, "")
			}
		}
		name, _, ok := strings.Cut(rule.Tool, "__")
		if ok && len(rule.Servers) == 0 && !strings.ContainsAny(name, "*?") && !slices.Contains(known, name) {
			warn("tool", name, fmt.Sprintf("if '%s__' is part of the tool's own name, name the tool's server in 'servers'", name))
		}
	}
}

// Suggestions for host patterns that no host can match.
const (
	onlyHost      = "write only the host, such as *.example.com, and internationalized names in Punycode (xn--…)"
	withoutPort   = "write the host without the port: it matches on every port"
	withoutScheme = "write only the host, without a scheme, such as *.example.com"
	wholeAddress  = "write the address as four decimal numbers, such as 127.0.0.1, or use a wildcard, such as 127.*"
	shortIPv6     = "write an IPv6 address in its short form, such as ::1 or fd00:1:*"
)

// hostPattern returns the pattern in the form in which hosts are compared: in lower case, without
// trailing dot, and addresses in their short form without brackets and zone. If no host can match
// it, suggestion says what to write.
func hostPattern(text string) (pattern, suggestion string) {
	p := strings.ToLower(strings.TrimSuffix(text, "."))
	inner, bracket := strings.CutPrefix(p, "[")
	switch {
	case text == "": // URLs without a host
		return "", ""
	case strings.Contains(p, "://"):
		return p, withoutScheme
	case p == "" || strings.HasSuffix(p, ".") || strings.ContainsAny(p, `/@\`) || strings.ContainsFunc(p, func(c rune) bool { return c <= ' ' || c >= 0x7f }):
		return p, onlyHost
	case bracket && strings.Contains(inner, "]:"):
		return p, withoutPort
	case bracket:
		if p = strings.TrimSuffix(inner, "]"); p == inner || !strings.Contains(p, ":") {
			return p, shortIPv6
		}
	}
	if addr, err := netip.ParseAddr(p); err == nil {
		return addr.Unmap().WithZone("").String(), ""
	}
	if before, after, ok := strings.Cut(p, ":"); ok {
		return p, checkColons(p, before, after)
	}
	if last := p[strings.LastIndexByte(p, '.')+1:]; !strings.ContainsAny(p, "*?") && (isDigits(last) || strings.HasPrefix(last, "0x")) {
		return p, wholeAddress
	}
	return p, ""
}

// checkColons returns what to write instead of a pattern with colons that is not an address. It
// accepts IPv6 addresses with wildcards.
func checkColons(p, before, after string) (suggestion string) {
	isGroup := func(g string) bool {
		return len(g) <= 4 && strings.Trim(g, "0123456789abcdef*?") == "" && (len(g) == 1 || !strings.HasPrefix(g, "0"))
	}
	switch groups := strings.Split(p, ":"); {
	case strings.Contains(after, ":"):
		if !strings.ContainsAny(p, "*?") || len(groups) > 8 || !slices.ContainsFunc(groups, isGroup) || slices.ContainsFunc(groups, func(g string) bool { return g != "" && !isGroup(g) }) {
			return shortIPv6
		}
	case after == "*" && before != "" && before != "*" && isGroup(before):
	case isDigits(after) || after == "*" && before != "http" && before != "https":
		return withoutPort
	default:
		return withoutScheme
	}
	return ""
}

func isDigits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }
