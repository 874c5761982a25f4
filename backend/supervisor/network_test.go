package supervisor

import (
	"strings"
	"testing"

	"drawbridge/config"
)

func TestGroupNetworkPassesOnProxiesAndCertificates(t *testing.T) {
	for _, name := range proxies {
		t.Setenv(name, "")
	}
	t.Setenv("HTTPS_PROXY", "http://user:secret@proxy:3128")
	t.Setenv("NODE_EXTRA_CA_CERTS", "/etc/ours.pem")
	t.Setenv("GITHUB_TOKEN", "ghp_x")
	e := environment{}
	for _, c := range []struct {
		inherit []string
		env     map[string]string
		proxy   string
		warned  bool
	}{
		{nil, nil, "", true},
		{[]string{"network"}, nil, "http://user:secret@proxy:3128", false},
		{[]string{"HTTPS_PROXY"}, nil, "http://user:secret@proxy:3128", false},
		{nil, map[string]string{"HTTPS_PROXY": "http://other"}, "http://other", false},
	} {
		cfg := config.Server{InheritEnv: c.inherit, Env: c.env}
		vars, err := e.of(&cfg)
		if err != nil {
			t.Fatal(err)
		}
		if vars["HTTPS_PROXY"] != c.proxy {
			t.Errorf("%v: proxy %q", c, vars["HTTPS_PROXY"])
		}
		if _, passed := vars["NODE_EXTRA_CA_CERTS"]; passed != (len(c.inherit) == 1 && c.inherit[0] == "network") {
			t.Errorf("%v: certificates passed on: %v", c, passed)
		}
		if _, leaked := vars["GITHUB_TOKEN"]; leaked {
			t.Error("the group takes more than the network")
		}
		warnings := strings.Join(e.withheld(&cfg, vars), "\n")
		if (warnings != "") != c.warned || strings.Contains(warnings, "secret") {
			t.Errorf("%v: warned %q", c, warnings)
		}
	}
}
