package config

import (
	"encoding/json"
	"testing"
)

func TestMountsAreParsed(t *testing.T) {
	for mount, want := range map[string][3]string{
		"/a:/b":            {"/a", "/b", "rw"},
		"/a:/b:ro":         {"/a", "/b", "ro"},
		"data:/b:rw":       {"data", "/b", "rw"},
		`C:\\x:/b`:         {`C:\\x`, "/b", "rw"},
		"D:/work:/b:ro":    {"D:/work", "/b", "ro"},
		"/a":               {},
		":/b":              {},
		"/a:b":             {},
		"/a:/b:z":          {},
		"/a:/b:/c":         {},
		"/a\x00:/b":        {},
		"volume:/x:ro:ro ": {},
	} {
		source, target, readOnly, ok := SplitMount(mount)
		mode := map[bool]string{true: "ro", false: "rw"}[readOnly]
		if ok != (want != [3]string{}) || ok && want != [3]string{source, target, mode} {
			t.Errorf("%q: %q %q %s %v", mount, source, target, mode, ok)
		}
	}
}

func FuzzMountsAreParsed(f *testing.F) {
	f.Add("/a:/b:ro")
	f.Add(`C:\\x:/b`)
	f.Fuzz(func(t *testing.T, mount string) {
		source, target, _, ok := SplitMount(mount)
		if ok && (source == "" || target == "" || target[0] != '/' || len(source)+len(target) > len(mount)) {
			t.Errorf("%q: %q, %q", mount, source, target)
		}
	})
}

func TestSizesFollowDockerCommand(t *testing.T) {
	for text, want := range map[string]int64{
		"512m": 512 << 20, "2G": 2 << 30, "64k": 64 << 10, "1048576": 1 << 20, "1gb": 1 << 30, "1GiB": 1 << 30, "100b": 100,
		"": 0, "m": 0, "-1m": 0, "0": 0, "1.5g": 0, "99999999t": 0, "5x": 0,
	} {
		if got, ok := ParseSize(text); got != want || ok != (want > 0) {
			t.Errorf("%q: %d, %v", text, got, ok)
		}
	}
}

func TestNamesThatTheEngineRefusesAreInvalid(t *testing.T) {
	for key, names := range map[string]map[string]bool{
		"container": {"web": true, "/web_1.x-2": true, "${NAME}": true, "--privileged": false, "a;rm": false, "../x": false, "a b": false, "a/b": false, "é": false, "a\nb": false},
		"image":     {"node": true, "localhost:5000/a/b:1.2": true, "ghcr.io/a/b@sha256:0123abcd": true, "${IMAGE}": true, "--privileged": false, "a;rm": false, "../x": false, "a b": false, "a//b": false, "a\n": false},
	} {
		for name, valid := range names {
			raw, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"a": map[string]any{"type": "docker", "command": "x", "docker": map[string]string{key: name}}}})
			if c, problems := Parse("c.json", raw); (c != nil && !HasErrors(problems)) != valid {
				t.Errorf("%s %q: %v", key, name, problems)
			}
		}
	}
}
