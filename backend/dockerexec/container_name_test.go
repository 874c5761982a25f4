package dockerexec

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The name of a container is part of a request path, so nothing else may be accepted.
func TestContainerInspectRequestsNameOnly(t *testing.T) {
	t.Parallel()
	for name, fine := range map[string]bool{
		"web": true, "/web": true, "shop-web-1": true, "a.b_c": true, "4f0c27a4b1c2": true,
		"": false, "../images/x": false, "web/../../images/x": false, "prune?x": false, "a#b": false, "a%2fb": false, "-x": false, "web\n": false, "//web": false,
	} {
		assert.Equalf(t, fine, checkName(name) == nil, "%q", name)
		if name == "" {
			continue // selected by labels
		}
		at := Selector{Name: name}
		_, err := at.resolveID(t.Context(), nil, Engine{})
		assert.Equalf(t, fine, err == nil, "%q", name)
		_, err = Inspect(t.Context(), Engine{Host: "tcp://127.0.0.1:1"}, name)
		assert.Errorf(t, err, "%q is looked into", name)
	}
}
