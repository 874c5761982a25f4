package clientconf

import (
	"strings"
	"testing"
)

// The parsers recurse into brackets: a file could end the process, or take minutes.
func TestDeepFilesOfClientsAreRefused(t *testing.T) {
	deep := strings.Repeat("[", 1_000_000)
	if _, err := parseTOML([]byte("a = "+deep), Client{}); err == nil || !strings.Contains(err.Error(), "nested deeper than") {
		t.Errorf("TOML: %.200v", err)
	}
	if _, err := parseYAML([]byte("a: "+deep), Client{}); err == nil || !strings.Contains(err.Error(), "nested deeper than") {
		t.Errorf("YAML: %.200v", err)
	}
}
