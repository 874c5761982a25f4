package sandbox

import (
	"slices"
	"testing"
)

func TestProtectionsFollowVersion(t *testing.T) {
	enforced := func(version int) (n int) {
		for _, p := range protections(version, true) {
			if p.Requires == "" {
				t.Errorf("%s: nothing is said about what it requires", p.Name)
			}
			if p.Enforced {
				n++
			}
		}
		return n
	}
	var got []int
	for version := range 7 {
		got = append(got, enforced(version))
	}
	if want := []int{0, 5, 5, 6, 7, 8, 9}; !slices.Equal(got, want) {
		t.Errorf("enforced by version: %v", got)
	}
}
