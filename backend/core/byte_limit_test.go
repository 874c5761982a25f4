package core

import "testing"

func TestLimitIsShownInItsLargestUnit(t *testing.T) {
	for bytes, want := range map[int64]string{4 << 20: "4 MiB", 256 << 10: "256 KiB", 1000: "1000 bytes", 0: "0 bytes"} {
		if got := FormatLimit(bytes); got != want {
			t.Errorf("%d: %s, want %s", bytes, got, want)
		}
	}
}
