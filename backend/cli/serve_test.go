package cli

import "testing"

func TestDebugIsEnabledByEnvironment(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"": false, "0": false, "false": false, "FALSE": false, "off": false, "no": false, "1": true, "true": true, " yes ": true} {
		p := &program{Options: Options{Getenv: func(string) string { return value }}}
		if p.debugEnabled() != want {
			t.Errorf("DRAWBRIDGE_DEBUG=%q: %v", value, !want)
		}
	}
}
