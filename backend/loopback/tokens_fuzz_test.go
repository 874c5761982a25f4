package loopback

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzTokenMatch checks that only a header with the scheme Bearer, a space and exactly the token
// identifies its client.
func FuzzTokenMatch(f *testing.F) {
	tokens, err := NewTokens(f.TempDir(), nil)
	require.NoError(f, err)
	mine, err := tokens.Create("cursor")
	require.NoError(f, err)
	token := mine.Token
	for _, s := range []string{"Bearer TOKEN", "bearer TOKEN", "Bearer  TOKEN ", "Bearer TOKEN,", "BearerTOKEN", "Basic TOKEN", "Bearer TOKEN TOKEN", "Bearer " + TokenPrefix, "Bearer", "", "Bearer TOKEN\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, header string) {
		header = strings.ReplaceAll(header, "TOKEN", token)
		shown, ok := BearerOf(&http.Request{Header: http.Header{"Authorization": {header}}})
		name, known := "", false
		if ok {
			name, known = tokens.Client(shown)
		}
		scheme, rest, _ := strings.Cut(header, " ")
		right := strings.EqualFold(scheme, "bearer") && strings.TrimSpace(rest) == token
		require.Truef(t, known == right && !(known && name != "cursor"), "%q names %q, %v", header, name, known)
		for _, values := range [][]string{nil, {header, header}} {
			if shown, ok := BearerOf(&http.Request{Header: http.Header{"Authorization": values}}); ok {
				t.Fatalf("%d headers show %q", len(values), shown)
			}
		}
	})
}

// FuzzTokenFile checks that any content of the file is either rejected as a whole, or admits
// exactly the tokens in it that have our prefix.
func FuzzTokenFile(f *testing.F) {
	for _, s := range []string{
		`{"tokens":[{"name":"a","token":"` + TokenPrefix + `x","createdAt":"2026-11-20T00:00:00Z"}]}`,
		`{"tokens":[{"name":"a","token":""}]}`, `{"tokens":null}`, `{"Tokens":[{"NAME":"a","token":"x"}]}`, `{}`, `[]`, `null`, ``, `{"tokens":[`,
	} {
		f.Add([]byte(s), TokenPrefix+"x")
	}
	f.Fuzz(func(t *testing.T, file []byte, shown string) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "tokens.json"), file, 0o600))
		tokens, err := NewTokens(dir, nil)
		if err != nil {
			return
		}
		var written tokenFile
		require.NoErrorf(t, json.Unmarshal(file, &written), "%q", file)
		right := false
		for _, one := range written.Tokens {
			right = right || one.Token == shown && strings.HasPrefix(shown, TokenPrefix)
		}
		name, known := tokens.Client(shown)
		require.Equalf(t, right, known, "%q in %q is %q", shown, file, name)
	})
}
