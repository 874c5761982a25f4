package config

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/tailscale/hujson"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// AddArgumentRule adds a rule to policy.rules, before the one with the key before in the file that
// holds it, or as the last one of the main file if before is "".
func (r *Reloader) AddArgumentRule(ctx context.Context, before string, rule json.RawMessage) error {
	file, at := r.o.Sources.Main(), -1
	var id string
	if before != "" {
		rules := r.Current().Policy.Arguments
		i := slices.IndexFunc(rules, func(a ArgumentRule) bool { return a.Key == before })
		if i < 0 {
			return core.Errorf(core.CodeConflict, "%s is no longer in the configuration", before)
		}
		file, at, id = rules[i].Source.File, rules[i].Index, ruleText(&rules[i])
	}
	return r.Edit(ctx, file, func(d *Document) error {
		if now, problems := ParseArgumentRules("config.jsonc", d.Bytes()); at >= 0 && (len(problems) > 0 || at >= len(now) || ruleText(&now[at]) != id) {
			return core.Errorf(core.CodeConflict, "the rules in the file have since been changed")
		}
		return d.InsertRule(at, rule)
	})
}

func ruleText(a *ArgumentRule) string {
	raw, _ := json.Marshal(a) // strings, numbers and lists of them: cannot fail
	return string(raw)
}

// InsertRule inserts a rule into policy.rules at an index, or at the end if it is negative.
// Comments of the other rules are kept.
func (d *Document) InsertRule(at int, raw json.RawMessage) error {
	value, err := d.formatObject(raw, 3)
	if err != nil {
		return err
	}
	section, err := d.ensureObject(d.root.Value.(*hujson.Object), "policy", 0)
	if err != nil {
		return err
	}
	i := memberIndex(section, "rules")
	if i < 0 {
		d.setMember(section, "rules", &hujson.Array{}, 1)
		i = memberIndex(section, "rules")
	}
	list, ok := section.Members[i].Value.Value.(*hujson.Array)
	if !ok {
		return core.Errorf(core.CodeValidation, "cannot add a rule: 'policy.rules' is not a list")
	}
	if at < 0 || at > len(list.Elements) {
		at = len(list.Elements)
	}
	indent := d.eol + d.indent + d.indent + d.indent
	element := hujson.Value{BeforeExtra: hujson.Extra(indent), Value: value}
	if at < len(list.Elements) { // a comment behind the comma is about the rule before
		next := &list.Elements[at]
		if i := bytes.Index(next.BeforeExtra, []byte(d.eol)); i > 0 {
			element.BeforeExtra = slices.Concat(next.BeforeExtra[:i:i], element.BeforeExtra)
			next.BeforeExtra = next.BeforeExtra[i:]
		}
	}
	list.Elements = slices.Insert(list.Elements, at, element)
	if len(list.Elements) == 1 {
		list.AfterExtra = hujson.Extra(d.eol + d.indent + d.indent)
	}
	return nil
}
