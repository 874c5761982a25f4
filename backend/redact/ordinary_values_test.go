package redact

import "testing"

func TestOrdinaryValuesAreNotRemoved(t *testing.T) {
	for _, v := range []string{
		"true", "1", "production", "INFO", "DEVELOPMENT", "Europe", "us-east-1", "eu-central-1", "read-only", "octo-org/hello-world", "me@example.com", "3600000",
		"2026-01-02", "1.2.3", "127.0.0.1", "192.168.100.200", "::1", "/home/me/notes", "~/notes", "https://api.example.com/v1", "http://localhost:5432", "db.example.com:5432", "application/json",
	} {
		if !Ordinary(v) {
			t.Errorf("%q is not ordinary", v)
		}
	}
	for _, v := range []string{
		"ABCD-1234-EFGH-5678", "PlainEnvSecr3t", "hunter2hunter2", "correct horse battery staple", "s3cretpass", "AKIAABCDEFGHIJKLMNOP", "4111-1111-1111-1111", "123-45-67890",
		"postgres://u:pw@h/db", "https://h/?key=abcdef", "https://hooks.example.com/services/T0AB12CD/B0/x9Y8z7W6", "eyJhbGciOiJI.eyJzdWIi.c2lnbmF0", "{\"a\": 1}", "correct-horse-battery-staple",
	} {
		if Ordinary(v) {
			t.Errorf("%q is ordinary", v)
		}
	}
}
