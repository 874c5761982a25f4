package marketplace

import (
	"slices"
	"strconv"
	"strings"
)

// value resolves an input. It returns the text and whether there is one. key identifies the
// input; what is the name shown to the user.
type value func(key, what string, in *Input) (text string, ok bool, err error)

// walk calls of for each input of a package, in command-line order, and returns the resolved
// runtime arguments, package arguments and environment.
func (p *Package) walk(of value) (before, after []string, env map[string]string, err error) {
	run := runners[p.RegistryType]
	env = map[string]string{}
	for i := range p.RuntimeArguments {
		a := &p.RuntimeArguments[i]
		if a.Type == "positional" && p.repeats(a.Value) || slices.Contains(run.before, a.Name) || slices.Contains(run.before, a.Value) {
			continue // added by Package.whole
		}
		if p.RegistryType == "oci" && a.Type == "named" && (a.Name == "-e" || a.Name == "--env") {
			// Passed as a variable of docker's own environment, with only its name on the command
			// line, because other users of this machine can read command lines.
			text, ok, err := a.fill("runtime."+strconv.Itoa(i), a.Name, of)
			if err != nil {
				return nil, nil, nil, err
			}
			if name, value, has := strings.Cut(text, "="); ok && has {
				env[name] = value
			}
			continue
		}
		if before, err = a.append(before, "runtime."+strconv.Itoa(i), of); err != nil {
			return nil, nil, nil, err
		}
	}
	for i := range p.PackageArguments {
		if after, err = p.PackageArguments[i].append(after, "arg."+strconv.Itoa(i), of); err != nil {
			return nil, nil, nil, err
		}
	}
	for i := range p.EnvironmentVariables {
		v := &p.EnvironmentVariables[i]
		text, ok, err := v.Input.fill("env."+v.Name, v.Name, of)
		if err != nil {
			return nil, nil, nil, err
		}
		if ok {
			env[v.Name] = text
		}
	}
	return before, after, env, nil
}

func (r *Remote) walk(of value) (url string, headers map[string]string, err error) {
	in := Input{Value: r.URL, Variables: r.Variables}
	if url, _, err = in.fill("url", "address", of); err != nil {
		return "", nil, err
	}
	headers = map[string]string{}
	for i := range r.Headers {
		h := &r.Headers[i]
		text, ok, err := h.Input.fill("header."+h.Name, h.Name, of)
		if err != nil {
			return "", nil, err
		}
		if ok {
			headers[h.Name] = text
		}
	}
	return url, headers, nil
}

// append adds the resolved argument to a command line.
func (a *Argument) append(line []string, key string, of value) ([]string, error) {
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
	text, ok, err := in.fill(key, label, of)
	if err != nil || !ok {
		return line, err
	}
	texts := []string{text}
	if a.IsRepeated {
		texts = lines(text)
	}
	for _, text := range texts {
		switch {
		case a.Type == "named":
			line = append(line, a.Name, text)
		case strings.HasPrefix(text, "-"):
			return nil, refusef("%s must not begin with a dash: it would be read as an option", label)
		default:
			line = append(line, text)
		}
	}
	return line, nil
}

// fill resolves the text of an input, including the variables in it.
func (in *Input) fill(key, what string, of value) (string, bool, error) {
	if in.Value == "" {
		return of(key, what, in)
	}
	missing, failed := false, error(nil)
	out := hole().ReplaceAllStringFunc(in.Value, func(m string) string {
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
			if text, ok, err = of(key+"."+name, name, &v); err != nil && failed == nil {
				failed = err
			}
		}
		missing = missing || !ok
		return text
	})
	return out, !missing, failed
}

func lines(text string) []string {
	var list []string
	for one := range strings.SplitSeq(text, "\n") {
		if one = strings.TrimSpace(one); one != "" {
			list = append(list, one)
		}
	}
	return list
}
