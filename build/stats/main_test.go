package main

import "testing"

func TestCodeLinesAreCountedWithoutCommentsAndBlanks(t *testing.T) {
	for src, want := range map[string]int{
		"package a\n\n// why\nvar b = 1 // why\n/* long\nlong */\n": 2,
		"package a\nvar b = `one\n\n// in a string`\n":              4,
	} {
		if n := goLines([]byte(src)); n != want {
			t.Errorf("%q: %d lines, want %d", src, n, want)
		}
	}
	if n := scriptLines("/* a\n b */\n\n// c\nconst d = 1; // e\n"); n != 1 {
		t.Errorf("script: %d lines, want 1", n)
	}
}
