package clientconf

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The parsers recurse into brackets: a file could end the process, or take minutes.
func TestDeepFilesOfClientsAreRefused(t *testing.T) {
	deep := strings.Repeat("[", 1_000_000)
	_, err := parseTOML([]byte("a = "+deep), Client{})
	assert.Truef(t, err != nil && strings.Contains(err.Error(), "nested deeper than"), "TOML: %.200v", err)
	_, err = parseYAML([]byte("a: "+deep), Client{})
	assert.Truef(t, err != nil && strings.Contains(err.Error(), "nested deeper than"), "YAML: %.200v", err)
}
