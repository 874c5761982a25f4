package config

import (
	"os"
	"path/filepath"
	"testing"
)

// What an earlier version offered as an example, or wrote when it was first started, is
// read without a word. Whoever changes the format so that an example changes keeps the
// old one in testdata/earlier.
func TestConfigurationsOfEarlierVersionsAreRead(t *testing.T) {
	files, err := filepath.Glob("testdata/earlier/*")
	if err != nil || len(files) < 4 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c, problems := Parse(filepath.Base(file), src)
		if len(problems) > 0 || c == nil {
			t.Errorf("%s: %v", file, problems)
		}
	}
}
