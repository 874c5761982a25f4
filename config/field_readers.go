package config

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// reader collects the problems of one file while its nodes are read.
type reader struct {
	problems []Problem
	server   string         // label of the server that is being read, or ""
	path     string         // of the object that is being read: "mcpServers.files"
	taken    map[string]int // position of the server with a name, keyed as by namesOf
	inputs   map[string]input
	bare     bool // the file has no key for servers
}

// field is one key of an object and the function that reads its value.
type field struct {
	name string
	read func(r *reader, name string, at Position, n *node)
}

func (r *reader) report(at Position, key string, warning bool, suggestion, format string, args ...any) {
	r.problems = append(r.problems, Problem{
		File: at.File, Line: at.Line, Column: at.Column,
		Key: join(r.path, key), Server: r.server, Warning: warning,
		Message: fmt.Sprintf(format, args...), Suggestion: suggestion,
	})
}

func (r *reader) errorf(at Position, key, format string, args ...any) {
	r.report(at, key, false, "", format, args...)
}

// inServer names the server that is being read, as the end of a message.
func (r *reader) inServer() string {
	if r.server == "" {
		return ""
	}
	return fmt.Sprintf(" in server '%s'", r.server)
}

// reportWrongKind reports a value of the wrong kind. It never shows the value.
func (r *reader) reportWrongKind(n *node, name, want string) {
	r.errorf(n.at, name, "'%s'%s must be %s, not %s", name, r.inServer(), want, n.kind)
}

// containerKeys contain servers, which edits find only under these exact names.
var containerKeys = []string{"mcpservers", "servers", "mcp"}

// object reads the members of n by fields. An unknown key is a warning unless it must be read, a duplicate
// key an error. Case and separators of a key do not matter, because it may be a limit.
func (r *reader) object(n *node, fields []field) {
	seen := make(map[string]bool, len(n.members))
	for _, m := range n.members {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == m.name })
		if i < 0 && !slices.Contains(containerKeys, fold(m.name)) {
			if i = slices.IndexFunc(fields, func(f field) bool { return fold(f.name) == fold(m.name) }); i >= 0 {
				r.report(m.at, m.name, true, fmt.Sprintf("to tidy it, write '%s'", fields[i].name), "'%s'%s is read as '%s'", m.name, r.inServer(), fields[i].name)
				m.name = fields[i].name
			}
		}
		if seen[m.name] {
			r.report(m.at, m.name, false, "remove one of them", "key '%s' appears twice%s", m.name, r.inServer())
			continue
		}
		if seen[m.name] = true; i < 0 {
			r.unknown(m, fields)
			continue
		}
		fields[i].read(r, m.name, m.at, m.value)
	}
}

func (r *reader) unknown(m member, fields []field) {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	suggestion := ""
	near := Nearest(m.name, names)
	if near != "" {
		suggestion = fmt.Sprintf("did you mean '%s'?", near)
	} else if (r.path == "" || r.path == "mcp") && isServer(m.value) {
		if suggestion = "servers belong in 'mcpServers'"; r.bare {
			// An error, because nothing else in the file is a server, and edits would not find this one.
			r.server = m.name
			r.report(m.at, m.name, false, `write {"mcpServers": {…}} around the servers`, "server '%s' is not in 'mcpServers'", m.name)
			r.server = ""
			return
		}
	} else if places := placesOf(m.name); len(places) > 0 {
		suggestion = fmt.Sprintf("'%s' is a key of %s", m.name, strings.Join(places, " and of "))
	}
	if write := notRead[m.name]; write != "" && r.server != "" && !m.value.isEmpty() {
		r.report(m.at, m.name, false, write, "'%s'%s is the key of another program, and is not read", m.name, r.inServer())
		return
	}
	r.report(m.at, m.name, !r.mustBeRead(m.name, near), suggestion, "unknown key '%s'%s", m.name, r.inServer())
}

// mustBeRead reports whether a key that is not read is an error rather than a warning, because servers would
// stop or a limit would be lifted: near is the known key that it probably is.
func (r *reader) mustBeRead(name, near string) bool {
	switch {
	case near == "":
		return false
	case fold(near) == fold(name):
		return true
	case r.server != "":
		return slices.Contains(limitingKeys, near)
	case r.path == "" || r.path == "mcp":
		return slices.Contains([]string{"policy", "profiles", "clients"}, near) || r.bare && slices.Contains([]string{"mcpServers", "servers"}, near)
	}
	return slices.Contains([]string{"includeTools", "excludeTools", "approval", "rules", "servers", "profile"}, near)
}

func section(name string, fields ...field) field {
	return field{name, func(r *reader, name string, _ Position, n *node) {
		if n.kind != kindObject {
			r.reportWrongKind(n, name, "an object")
			return
		}
		outer := r.path
		r.path = join(outer, name)
		r.object(n, fields)
		r.path = outer
	}}
}

func str(name string, to *string, check ...func(string) string) field {
	return field{name, func(r *reader, name string, _ Position, n *node) {
		if n.kind != kindString {
			r.reportWrongKind(n, name, "a string")
			return
		}
		if !r.withoutNUL(n, name) {
			return
		}
		for _, c := range check {
			if complaint := c(n.text); complaint != "" {
				r.errorf(n.at, name, "'%s'%s %s", name, r.inServer(), complaint)
				return
			}
		}
		*to = n.text
	}}
}

func oneOf(name string, to *string, words ...string) field {
	return oneOfThen(name, words, func(word string) { *to = word })
}

func oneOfThen(name string, words []string, set func(word string)) field {
	return field{name, func(r *reader, name string, _ Position, n *node) {
		if n.kind != kindString || !slices.Contains(words, n.text) {
			suggestion := ""
			if near := Nearest(n.text, words); n.kind == kindString && near != "" {
				suggestion = fmt.Sprintf("did you mean '%s'?", near)
			}
			r.report(n.at, name, false, suggestion, "'%s'%s must be one of %s", name, r.inServer(), strings.Join(words, ", "))
			return
		}
		set(n.text)
	}}
}

func boolean(name string, to *bool) field { return booleanSetter(name, func(b bool) { *to = b }) }

func booleanSetter(name string, set func(bool)) field {
	return field{name, func(r *reader, name string, _ Position, n *node) {
		if n.kind != kindBool {
			r.reportWrongKind(n, name, "true or false")
			return
		}
		set(n.text == "true")
	}}
}

// whole is an integer between two bounds.
func whole(name string, least, most int64, set func(int64)) field {
	return field{name, func(r *reader, name string, _ Position, n *node) {
		v, ok := r.integer(n, name, least, most)
		if !ok {
			return
		}
		set(v)
		if name == "timeout" && v > 0 && v < 1000 {
			r.report(n.at, name, true, fmt.Sprintf("%d seconds is %d", v, v*1000), "'timeout'%s is in milliseconds", r.inServer())
		}
	}}
}

// delays is a list of durations in milliseconds, each at most ten minutes.
func delays(name string, to *[]time.Duration) field {
	return field{name, func(r *reader, name string, _ Position, n *node) {
		if n.kind != kindList {
			r.reportWrongKind(n, name, "a list of numbers")
			return
		}
		var out []time.Duration
		for i, item := range n.items {
			v, ok := r.integer(item, fmt.Sprintf("%s[%d]", name, i), 0, (10 * time.Minute).Milliseconds())
			if !ok {
				return
			}
			out = append(out, time.Duration(v)*time.Millisecond)
		}
		if len(out) > 20 {
			r.errorf(n.at, name, "'%s'%s must contain at most 20 numbers", name, r.inServer())
			return
		}
		*to = out
	}}
}

// number is any number between two bounds, the lower one excluded.
func number(name string, above, most float64, set func(text string, v float64)) field {
	return field{name, func(r *reader, name string, _ Position, n *node) {
		if n.kind != kindNumber {
			r.reportWrongKind(n, name, "a number")
			return
		}
		v, err := strconv.ParseFloat(n.text, 64)
		if err != nil || !(v > above && v <= most) {
			r.errorf(n.at, name, "'%s'%s must be a number greater than %g and at most %g", name, r.inServer(), above, most)
			return
		}
		set(n.text, v)
	}}
}

func (r *reader) integer(n *node, name string, least, most int64) (int64, bool) {
	if n.kind != kindNumber {
		r.reportWrongKind(n, name, "a number")
		return 0, false
	}
	v, err := strconv.ParseInt(n.text, 10, 64)
	if f, ferr := strconv.ParseFloat(n.text, 64); err != nil && ferr == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		v, err = int64(f), nil // 3e4, 30000.0
	}
	if err != nil || v < least || v > most {
		r.errorf(n.at, name, "'%s'%s must be a whole number from %d to %d", name, r.inServer(), least, most)
		return 0, false
	}
	return v, true
}

// list is a list of strings; an empty one is nil. Numbers and booleans are read as their text.
func list(name string, to *[]string) field {
	return field{name, func(r *reader, name string, _ Position, n *node) {
		if n.kind != kindList {
			r.reportWrongKind(n, name, "a list of strings")
			return
		}
		var out []string
		for i, item := range n.items {
			if item.kind != kindString && item.kind != kindNumber && item.kind != kindBool {
				r.reportWrongKind(item, fmt.Sprintf("%s[%d]", name, i), "a string")
				return
			}
			if !r.withoutNUL(item, fmt.Sprintf("%s[%d]", name, i)) {
				return
			}
			out = append(out, item.text)
		}
		*to = out
	}}
}

// withoutNUL refuses a NUL byte, which would terminate an argument or variable of a program.
func (r *reader) withoutNUL(n *node, name string) bool {
	if !strings.ContainsRune(n.text, 0) {
		return true
	}
	r.errorf(n.at, name, "'%s'%s must not contain a NUL character", name, r.inServer())
	return false
}

// Bounds of patterns.
const (
	maxPatterns = 50
	maxPattern  = 500 // bytes
)

// patterns is a list of regular expressions. It refuses one that matches the empty string,
// because that matches everywhere.
func patterns(name string, to *[]string) field {
	return field{name, func(r *reader, name string, at Position, n *node) {
		var all []string
		before := len(r.problems)
		list(name, &all).read(r, name, at, n)
		if HasErrors(r.problems[before:]) {
			return
		}
		if len(all) > maxPatterns {
			r.errorf(n.at, name, "'%s'%s must contain at most %d patterns", name, r.inServer(), maxPatterns)
			return
		}
		for i, text := range all {
			key := fmt.Sprintf("%s[%d]", name, i)
			switch p, err := regexp.Compile(text); {
			case len(text) > maxPattern:
				r.errorf(n.items[i].at, key, "'%s'%s must be at most %d bytes long", key, r.inServer(), maxPattern)
				return
			case err != nil:
				r.errorf(n.items[i].at, key, "'%s'%s is not a regular expression: %v", key, r.inServer(), err)
				return
			case p.MatchString(""):
				r.errorf(n.items[i].at, key, "'%s'%s must not match the empty string", key, r.inServer())
				return
			}
		}
		*to = all
	}}
}

// stringMap is an object of strings; an empty one is nil. Numbers and booleans are read as their
// text; null omits the name.
func stringMap(name string, to *map[string]string, keys map[string]Position) field {
	return field{name, func(r *reader, name string, _ Position, n *node) {
		if n.kind != kindObject {
			r.reportWrongKind(n, name, "an object of strings")
			return
		}
		out := make(map[string]string, len(n.members))
		for _, m := range n.members {
			switch m.value.kind {
			case kindString, kindNumber, kindBool:
			case kindNull:
				continue
			default:
				r.reportWrongKind(m.value, join(name, m.name), "a string")
				return
			}
			if _, twice := out[m.name]; twice {
				r.report(m.at, join(name, m.name), false, "remove one of them", "key '%s' appears twice in '%s'%s", m.name, name, r.inServer())
				return
			}
			out[m.name] = m.value.text
			if !r.withoutNUL(m.value, join(name, m.name)) {
				return
			}
			if keys != nil {
				keys[join(name, m.name)] = m.value.at
			}
		}
		if *to = out; len(out) == 0 {
			*to = nil
		}
	}}
}

func anything(name string) field {
	return field{name, func(*reader, string, Position, *node) {}}
}

func join(path, key string) string {
	if path == "" || key == "" {
		return path + key
	}
	return path + "." + key
}
