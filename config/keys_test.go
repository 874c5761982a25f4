package config

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMentionedHostsAreThoseOfURLs(t *testing.T) {
	s := Server{
		Command: "/usr/bin/npx", Args: []string{"-y", "x@https://git.example.org/x.git", "--api=https://API.example.com:8443/v1", "/home/me"},
		Env: map[string]string{"DB": "postgres://me:secret@db.example.net:5432/x", "TOKEN": "abc", "BASE": "https://${HOST}/"},
	}
	want := []string{"api.example.com", "db.example.net", "git.example.org", "registry.npmjs.org"}
	assert.Equal(t, want, s.MentionedHosts())
}
