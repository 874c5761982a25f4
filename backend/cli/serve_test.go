package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestServeRefusesAConfigThatDoesNotExist(t *testing.T) {
	t.Parallel()
	data, served := t.TempDir(), 0
	serve := func(o *Options) {
		o.Serve = func(context.Context, ServeOptions) error { served++; return nil }
	}
	file := filepath.Join(data, "servers.json")
	if got := runMain(t.Context(), data, serve, "serve", "--config", file); got.code != 1 || served != 0 || !strings.Contains(got.errOut, `servers.json" does not exist`) {
		t.Errorf("%+v, served %d times", got, served)
	}
	must(t, os.WriteFile(file, []byte("{}"), 0o600))
	for _, args := range [][]string{{"serve", "--config", file}, {"serve"}} {
		if got := runMain(t.Context(), data, serve, args...); got.code != 0 {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestDebugIsEnabledByEnvironment(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"": false, "0": false, "false": false, "FALSE": false, "off": false, "no": false, "1": true, "true": true, " yes ": true} {
		p := &program{Options: Options{Getenv: func(string) string { return value }}}
		if p.debugEnabled() != want {
			t.Errorf("DRAWBRIDGE_DEBUG=%q: %v", value, !want)
		}
	}
}
