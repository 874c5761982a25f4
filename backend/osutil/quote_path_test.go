package osutil

import "testing"

func TestPathsAreQuotedAsTheirSystemWritesThem(t *testing.T) {
	for path, want := range map[string]string{`C:\Users\Jörg Müller`: `"C:\Users\Jörg Müller"`, "/a\n\x1b[31m": `"/a\n\x1b[31m"`} {
		if got := QuotePath(path); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
