package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
		assert.Truef(t, ok == (want != [3]string{}) && !(ok && want != [3]string{source, target, mode}), "%q: %q %q %s %v", mount, source, target, mode, ok)
	}
}

func FuzzMountsAreParsed(f *testing.F) {
	f.Add("/a:/b:ro")
	f.Add(`C:\\x:/b`)
	f.Fuzz(func(t *testing.T, mount string) {
		source, target, _, ok := SplitMount(mount)
		assert.Falsef(t, ok && (source == "" || target == "" || target[0] != '/' || len(source)+len(target) > len(mount)), "%q: %q, %q", mount, source, target)
	})
}

func TestSizesFollowDockerCommand(t *testing.T) {
	for text, want := range map[string]int64{
		"512m": 512 << 20, "2G": 2 << 30, "64k": 64 << 10, "1048576": 1 << 20, "1gb": 1 << 30, "1GiB": 1 << 30, "100b": 100,
		"": 0, "m": 0, "-1m": 0, "0": 0, "1.5g": 0, "99999999t": 0, "5x": 0,
	} {
		got, ok := ParseSize(text)
		assert.Truef(t, got == want && ok == (want > 0), "%q: %d, %v", text, got, ok)
	}
}

func TestNamesThatTheEngineRefusesAreInvalid(t *testing.T) {
	for key, names := range map[string]map[string]bool{
		"container": {"web": true, "/web_1.x-2": true, "${NAME}": true, "--privileged": false, "a;rm": false, "../x": false, "a b": false, "a/b": false, "é": false, "a\nb": false},
		"image":     {"node": true, "localhost:5000/a/b:1.2": true, "ghcr.io/a/b@sha256:0123abcd": true, "${IMAGE}": true, "--privileged": false, "a;rm": false, "../x": false, "a b": false, "a//b": false, "a\n": false},
	} {
		for name, valid := range names {
			raw, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"a": map[string]any{"type": "docker", "command": "x", "docker": map[string]string{key: name}}}})
			c, problems := Parse("c.json", raw)
			assert.Equalf(t, valid, c != nil && !HasErrors(problems), "%s %q", key, name)
		}
	}
}

func TestDockerExecCommandIsADockerServer(t *testing.T) {
	envFile := filepath.Join(t.TempDir(), "box.env")
	require.NoError(t, os.WriteFile(envFile, []byte("\ufeff# comment\nA=1 = 2\n\n  B=\"q\"\r\nC\nD=${X}\n"), 0o600))
	for _, tt := range []struct {
		command string
		args    []string
		env     map[string]string
		want    Docker
		program string
		inside  map[string]string
	}{
		{"docker", []string{"exec", "-i", "box", "/srv"}, nil, Docker{Container: "box"}, "/srv", nil},
		{"/usr/bin/docker", []string{"container", "exec", "-it", "box", "node", "x.js", "-e", "y"}, map[string]string{"PATH": "/x"}, Docker{Container: "box"}, "node x.js -e y", nil},
		{`C:\Docker\Docker.EXE`, []string{"exec", "--interactive=true", "--tty", "--", "box", "srv"}, nil, Docker{Container: "box"}, "srv", nil},
		{"docker", []string{"-H", "unix:///s", "exec", "-iu", "me:1", "--workdir=/w", "-eA=1=2", "-e", "B", "--env", "C", "box", "srv"}, map[string]string{"B": "b"},
			Docker{Container: "box", Host: "unix:///s", User: "me:1", Workdir: "/w"}, "srv", map[string]string{"A": "1=2", "B": "b", "C": "${C:-}"}},
		{"docker", []string{"--context", "far", "--debug", "exec", "--detach-keys", "x", "-w", "/w", "-i=true", "box", "srv"}, map[string]string{"DOCKER_HOST": "tcp://x"}, Docker{Container: "box", Host: "tcp://x", Context: "far", Workdir: "/w"}, "srv", nil},
		{"docker", []string{"exec", "--env-file", envFile, "-e", "A=3", "box", "srv"}, nil, Docker{Container: "box"}, "srv", map[string]string{"A": "3", "B": `"q"`, "C": "${C:-}", "D": "$${X}"}},
		{"env", []string{"DOCKER_HOST=tcp://y", "B=b", "docker", "exec", "-e", "B", "box", "srv"}, nil, Docker{Container: "box", Host: "tcp://y"}, "srv", map[string]string{"B": "b"}},
		{"docker", []string{"exec", "-i", "${BOX}", "srv"}, nil, Docker{Container: "${BOX}"}, "srv", nil},
	} {
		entry := map[string]any{"command": tt.command, "args": tt.args}
		if tt.env != nil {
			entry["env"] = tt.env
		}
		src, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"a": entry}})
		c, problems := Parse("c.json", src)
		if len(problems) > 0 {
			t.Errorf("%s: %v", tt.args, problems)
			continue
		}
		s := c.Servers[0]
		got := strings.Join(append([]string{s.Command}, s.Args...), " ")
		if s.Type != core.Docker || !reflect.DeepEqual(s.Docker, tt.want) || got != tt.program || len(s.Env)+len(tt.inside) > 0 && !reflect.DeepEqual(s.Env, tt.inside) {
			t.Errorf("%s: %s %+v, %s, %v", tt.args, s.Type, s.Docker, got, s.Env)
		}
	}
}

func TestCommandsThatMayLeaveProcessesAreReported(t *testing.T) {
	for args, warned := range map[string]bool{
		"env -i docker exec -i box srv": true, "env A=1 docker exec --privileged box srv": true, "env A=1 podman exec box srv": true, "sudo -n docker exec -i box srv": true, "nice -n 5 docker exec box srv": true, "wsl docker exec -i box srv": true, "env A=1 srv": false, "sudo srv": false,
		"cmd /c docker exec -i box srv": true, "sh -c exec|/usr/bin/docker|exec|-i|box|srv": true, "bash -lc cd|/x&&docker|container|exec|box|srv": true, "bash -c 'docker'|exec|box": true, "sudo ssh host srv": true, "sh -c docker|run|-i|image|exec": false, "env A=1 docker run -i image exec": false,
		"docker exec -d box srv": true, "docker exec --privileged box srv": true, "docker exec --env-file none box srv": true, "docker exec box": true,
		"docker --tlsverify exec box srv": true, "docker compose exec -T box srv": true, "docker-compose exec box srv": true, "podman exec -i box srv": true,
		"kubectl exec -i pod -- srv": true, "ssh host srv": true, "docker run -i --rm image exec": false, "docker compose run exec": true, "docker compose run x": false, "dockerx exec box srv": false,
	} {
		words := strings.Fields(args)
		for i, word := range words {
			words[i] = strings.ReplaceAll(word, "|", " ")
		}
		src, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"a": map[string]any{"command": words[0], "args": words[1:]}}})
		c, problems := Parse("c.json", src)
		if HasErrors(problems) || (len(problems) > 0) != warned || c.Servers[0].Type != core.Stdio || c.Servers[0].Command != words[0] || len(c.Servers[0].Args) != len(words)-1 {
			t.Errorf("%s: %v, %+v", args, problems, c.Servers[0])
		}
	}
}
