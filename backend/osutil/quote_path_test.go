package osutil

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPathsAreQuotedAsTheirSystemWritesThem(t *testing.T) {
	for path, want := range map[string]string{`C:\Users\Jörg Müller`: `"C:\Users\Jörg Müller"`, "/a\n\x1b[31m": `"/a\n\x1b[31m"`} {
		assert.Equal(t, want, QuotePath(path))
	}
}

func TestWordsOfACommandLineCanBeToldApart(t *testing.T) {
	assert.Equal(t, `"C:\\Program Files\\node.exe" -y "" x`, CommandLine(`C:\Program Files\node.exe`, "-y", "", "x"))
	assert.NotEqual(t, CommandLine("a b\n"), CommandLine(`a b\n`), "what is approved looks like something else")
}
