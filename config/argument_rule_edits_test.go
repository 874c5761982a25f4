package config

import "testing"

func TestInsertedRuleKeepsRest(t *testing.T) {
	t.Parallel()
	const rule = `{"tool":"files__put","then":"allow"}`
	for _, c := range []struct {
		before string
		at     int
		want   string
	}{
		{"{\n  // mine\n  \"policy\": {\n    \"rules\": [\n      // first\n      {\"then\": \"ask\"}, // a\n      {\"then\": \"deny\"} // b\n    ]\n  }\n}\n", 1,
			"{\n  // mine\n  \"policy\": {\n    \"rules\": [\n      // first\n      {\"then\": \"ask\"}, // a\n      {\n        \"tool\": \"files__put\",\n        \"then\": \"allow\"\n      },\n      {\"then\": \"deny\"} // b\n    ]\n  }\n}\n"},
		{"{\n  \"mcpServers\": {}\n}\n", -1,
			"{\n  \"mcpServers\": {},\n  \"policy\": {\n    \"rules\": [\n      {\n        \"tool\": \"files__put\",\n        \"then\": \"allow\"\n      }\n    ]\n  }\n}\n"},
	} {
		d, err := NewDocument([]byte(c.before))
		must(t, err)
		if err := d.InsertRule(c.at, []byte(rule)); err != nil || string(d.Bytes()) != c.want {
			t.Errorf("%v\n%s", err, d.Bytes())
		}
	}
}
