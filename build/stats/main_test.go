package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCodeLinesAreCountedWithoutCommentsAndBlanks(t *testing.T) {
	for src, want := range map[string]int{
		"package a\n\n// why\nvar b = 1 // why\n/* long\nlong */\n": 2,
		"package a\nvar b = `one\n\n// in a string`\n":              4,
	} {
		assert.Equalf(t, want, goLines([]byte(src)), "%q", src)
	}
	assert.Equal(t, 1, scriptLines("/* a\n b */\n\n// c\nconst d = 1; // e\n"))
}
