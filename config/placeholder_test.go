package config

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPlaceholdersOfEntryAreFound(t *testing.T) {
	got := Placeholders([]byte(`{"command":"/path/to/python","cwd":"C:\\path\\to\\x","args":["--root=/Users/username/Desktop","a"],` +
		`"env":{"B":"sk-...","A":"<your key>","L":"debug","R":"${A}"},"headers":{"X":"Bearer YOUR_TOKEN"}}`))
	assert.Equal(t, []string{"/path/to/python", `C:\path\to\x`, "/Users/username/Desktop", "<your key>", "sk-...", "YOUR_TOKEN"}, got)
}
