package marketplace

import (
	"slices"
	"strconv"
	"strings"
)

// inputResolver resolves an input. It returns the text and whether there is one. key identifies the
// input; what is the name shown to the user.
type inputResolver func(key, what string, in *Input) (text string, ok bool, err error)

// resolveInputs calls resolve for each input of a package, in command-line order, and returns the
// resolved runtime arguments, package arguments and environment.
func (p *Package) resolveInputs(resolve inputResolver) (before, after []string, env map[string]string, err error) {
	run := runners[p.RegistryType]
	env = map[string]string{}
	for i := range p.RuntimeArguments {
		a := &p.RuntimeArguments[i]
		if a.Type == "positional" && p.isFixedWord(a.Value) || slices.Contains(run.fixedArguments, a.Name) || slices.Contains(run.fixedArguments, a.Value) {
			continue // added by Package.commandLine
		}
		if p.RegistryType == "oci" && a.Type == "named" && (a.Name == "-e" || a.Name == "--env") {
			// Passed as a variable of docker's own environment, with only its name on the command
			// line, because other users of this machine can read command lines.
			text, ok, err := a.expand("runtime."+strconv.Itoa(i), a.Name, resolve)
			if err != nil {
				return nil, nil, nil, err
			}
			if name, value, has := strings.Cut(text, "="); ok && has {
				env[name] = value
			}
			continue
		}
		if before, err = a.appendTo(before, "runtime."+strconv.Itoa(i), resolve); err != nil {
			return nil, nil, nil, err
		}
	}
	for i := range p.PackageArguments {
		if after, err = p.PackageArguments[i].appendTo(after, "arg."+strconv.Itoa(i), resolve); err != nil {
			return nil, nil, nil, err
		}
	}
	for i := range p.EnvironmentVariables {
		v := &p.EnvironmentVariables[i]
		text, ok, err := v.Input.expand("env."+v.Name, v.Name, resolve)
		if err != nil {
			return nil, nil, nil, err
		}
		if ok {
			env[v.Name] = text
		}
	}
	return before, after, env, nil
}

func (r *Remote) resolveInputs(resolve inputResolver) (url string, headers map[string]string, err error) {
	in := Input{Value: r.URL, Variables: r.Variables}
	if url, _, err = in.expand("url", "address", resolve); err != nil {
		return "", nil, err
	}
	headers = map[string]string{}
	for i := range r.Headers {
		h := &r.Headers[i]
		text, ok, err := h.Input.expand("header."+h.Name, h.Name, resolve)
		if err != nil {
			return "", nil, err
		}
		if ok {
			headers[h.Name] = text
		}
	}
	return url, headers, nil
}

// appendTo adds the resolved argument to a command line.
func (a *Argument) appendTo(line []string, key string, resolve inputResolver) ([]string, error) {
	label := a.Name
	if label == "" {
		label = a.ValueHint
	}
	if label == "" {
		label = "argument"
	}
	if a.Type == "named" && a.Value == "" && a.Default == "" && !a.IsRequired && a.ValueHint == "" && len(a.Choices) == 0 && a.Format == "" && !a.IsSecret {
		return append(line, a.Name), nil // a flag without a value
	}
	in := a.Input
	if a.IsRepeated {
		in.Format = "repeated"
	}
	text, ok, err := in.expand(key, label, resolve)
	if err != nil || !ok {
		return line, err
	}
	texts := []string{text}
	if a.IsRepeated {
		texts = nonEmptyLines(text)
	}
	for _, text := range texts {
		switch {
		case a.Type == "named":
			line = append(line, a.Name, text)
		case strings.HasPrefix(text, "-"):
			return nil, validationErrorf("%s must not begin with a dash: it would be read as an option", label)
		default:
			line = append(line, text)
		}
	}
	return line, nil
}

// expand resolves the text of an input, including the variables in it.
func (in *Input) expand(key, what string, resolve inputResolver) (string, bool, error) {
	if in.Value == "" {
		return resolve(key, what, in)
	}
	missing, failed := false, error(nil)
	out := inputVariable().ReplaceAllStringFunc(in.Value, func(m string) string {
		name := m[1 : len(m)-1]
		v, known := in.Variables[name]
		if !known {
			v = Input{IsRequired: true}
		}
		if in.IsSecret {
			v.IsSecret = true
		}
		text, ok := v.Value, v.Value != ""
		if !ok {
			var err error
			if text, ok, err = resolve(key+"."+name, name, &v); err != nil && failed == nil {
				failed = err
			}
		}
		missing = missing || !ok
		return text
	})
	return out, !missing, failed
}

func nonEmptyLines(text string) []string {
	var list []string
	for one := range strings.SplitSeq(text, "\n") {
		if one = strings.TrimSpace(one); one != "" {
			list = append(list, one)
		}
	}
	return list
}
