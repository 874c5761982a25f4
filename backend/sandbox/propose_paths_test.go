package sandbox

import (
	"path/filepath"
	"slices"
	"testing"
)

func TestProposalNeverIncludesPrivateFilesOrThoseThatStartPrograms(t *testing.T) {
	home := t.TempDir()
	r := Rules{
		Read:           []string{"/usr", home + "/projects", home + "/.local", home + "/.bashrc", home + "/notes.txt", home + "/.config/app.json"},
		Write:          []string{home + "/tmp", home + "/.npm"},
		Private:        []string{home + "/.ssh", home + "/.aws", home + "/.config/gh"},
		StartsPrograms: []string{home + "/.bashrc", home + "/.local/bin"},
	}
	p := Propose(r, home, []Opened{
		{"/usr/lib/x", false}, {home + "/tmp/a", true}, {home + "/.npm/x", true}, // covered
		{home + "/projects/a/1.txt", true}, {home + "/projects/a/b/2.txt", true}, {home + "/.bashrc", true}, {home + "/.local/bin/tool", true}, {home + "/.local/x", true}, {home + "/notes.txt", true},
		{home + "/.config/app.json", true}, {home + "/later", false}, {home + "/.created/logs/today.log", true},
		{home + "/.ssh/config", false}, {home + "/.aws/token", true}, {"/", false}, {filepath.Dir(home), false}, {home, false}, {home + "/.config", false},
	})
	for _, c := range []struct {
		name      string
		got, want []string
	}{
		{"read", p.Read, []string{"~/later"}},
		{"write", p.Write, []string{"~/.config/app.json", "~/.created", "~/.local/x", "~/notes.txt", "~/projects/a"}},
		{"private", p.Private, []string{"/", filepath.Dir(home), "~", "~/.aws/token", "~/.config", "~/.ssh/config"}},
		{"programs", p.Programs, []string{"~/.bashrc", "~/.local/bin/tool"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, c.got, c.want)
		}
	}
}

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
