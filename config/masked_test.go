package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestMaskedConfigContainsNoSecret(t *testing.T) {
	for name, src := range map[string]string{
		"c.jsonc": `{ // canary0 in a comment
  "mcpServers": {
    "a": {"command": "npx", "args": ["-y", "pkg@1.2.3", "--api-key", "canary1", "--token=canary2", "-e", "KEY=canary3", "--url", "https://u:canary4@h/p?k=canary5#canary6", "-e", "PLAIN",
          "--env=A=canary18", "--header=X-A: canary19", "-u=canary20", "https://canary21abcdef0123456:x@h.example/s/canary22abcdef0123456789/mcp"], "inheritEnv": ["INHERITED", "network"],
          "env": {"X": "canary7", "Y": "${HOME}", "Z": "a${T:-canary8}b", "N": 12345678}},
    "b": {"url": "https://h/canary9abcdef0123456789/mcp?key=canary10", "headers": {"Authorization": "Bearer canary11", "X-A": "${secret:x}"}},
    "c": {"command": "sk-proj-canary12abcdefghijk0123456789", "tools": {"t": {"description": "see"}}},
    "d": {"command": "x", "password": "canary13", "nested": {"clientSecret": ["canary14"], "auth": {"value": "plain words"}}},
    "e": {"command": ["x"], "environment": {"P": "canary23"}, "envs": ["P=canary24"], "http_headers": {"P": "canary25"}, "requestInit": {"headers": {"P": "canary26"}}}
  },
  "history": {"redact": ["canary15-\\d+"]},
  "metrics": {"otlp": {"endpoint": "http://u:canary16@127.0.0.1", "headers": {"k": "canary17"}}},
}`,
		"c.yaml": "mcpServers:\n  a:\n    # canary0\n    command: x\n    env: {A: canary7}\n",
	} {
		text, values, variables, err := Masked(name, []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "canary") || strings.Contains(string(text), "12345678") {
			t.Errorf("%s: a secret is left:\n%s", name, text)
		}
		if !json.Valid(text) || !strings.Contains(string(text), `"mcpServers"`) {
			t.Errorf("%s: %s", name, text)
		}
		if !slices.Contains(values, "canary7") {
			t.Errorf("%s: what was masked is not told: %q", name, values)
		}
		if name == "c.jsonc" {
			if !slices.Contains(variables, "HOME") || !slices.Contains(variables, "T") || !slices.Contains(variables, "INHERITED") {
				t.Errorf("it refers to %q", variables)
			}
			for _, hidden := range []string{"canary21abcdef0123456", "canary22abcdef0123456789"} { // as they may occur in a log
				if !slices.Contains(values, hidden) {
					t.Errorf("%s is not told: %q", hidden, values)
				}
			}
			for _, stays := range []string{`"--env=A=[masked]"`, `"--header=X-A:[masked]"`, `"https://[masked]@h.example/s/[masked]/mcp"`, `"npx"`, `"-y"`, `"pkg@1.2.3"`, `"${HOME}"`, `"${secret:x}"`, `[masked]${T:-[masked]}[masked]`, `KEY=[masked]`, `"--api-key"`} {
				if !strings.Contains(string(text), stays) {
					t.Errorf("%s is lost:\n%s", stays, text)
				}
			}
		}
	}
	if _, _, _, err := Masked("c.jsonc", []byte(`{"a": canary}`)); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("a file that is not understood: %v", err)
	}
}

func TestMaskedReadsLineCommentAtTheEndOfTheFile(t *testing.T) {
	text, _, _, err := Masked("c.jsonc", []byte(`{"mcpServers": {}} // end`))
	if err != nil || !strings.Contains(string(text), "mcpServers") {
		t.Fatalf("%s, %v", text, err)
	}
}

func TestMaskedExamplesStayReadable(t *testing.T) {
	files, err := filepath.Glob("examples/*")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		text, _, _, err := Masked(f, src)
		if err != nil {
			t.Fatal(err)
		}
		if c, problems := Parse("x.json", text); c == nil || HasErrors(problems) {
			t.Errorf("%s: what is shown is not a configuration: %v\n%s", f, problems, text)
		}
	}
}

func FuzzMaskedHidesEnvironmentValues(f *testing.F) {
	f.Add("canary-value-1")
	f.Add("a${X:-secretvalue}b")
	f.Add(`quote " and \ and ü`)
	f.Fuzz(func(t *testing.T, value string) {
		if len(value) < 8 || strings.Contains(value, "$") || strings.Contains(value, "masked") {
			return
		}
		quoted, _ := json.Marshal(value)
		text, _, _, err := Masked("x.json", []byte(`{"mcpServers":{"s":{"command":"c","env":{"K":`+string(quoted)+`}}}}`))
		if err != nil {
			return
		}
		if inner := string(quoted[1 : len(quoted)-1]); strings.Contains(string(text), inner) && !strings.Contains(`{"mcpServers":{"s":{"command":"c","env":{"K":`, inner) {
			t.Errorf("%q is left in %s", value, text)
		}
	})
}
