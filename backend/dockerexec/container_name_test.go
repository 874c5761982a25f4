package dockerexec

import "testing"

// The name of a container is part of a request path, so nothing else may be accepted.
func TestContainerInspectRequestsNameOnly(t *testing.T) {
	t.Parallel()
	for name, fine := range map[string]bool{
		"web": true, "/web": true, "shop-web-1": true, "a.b_c": true, "4f0c27a4b1c2": true,
		"": false, "../images/x": false, "web/../../images/x": false, "prune?x": false, "a#b": false, "a%2fb": false, "-x": false, "web\n": false, "//web": false,
	} {
		if err := checkName(name); (err == nil) != fine {
			t.Errorf("%q: %v", name, err)
		}
		if name == "" {
			continue // selected by labels
		}
		at := Selector{Name: name}
		if _, err := at.resolveID(t.Context(), nil, Engine{}); (err == nil) != fine {
			t.Errorf("%q is asked for: %v", name, err)
		}
		if _, err := Inspect(t.Context(), Engine{Host: "tcp://127.0.0.1:1"}, name); err == nil {
			t.Errorf("%q is looked into", name)
		}
	}
}
