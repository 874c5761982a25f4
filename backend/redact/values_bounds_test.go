package redact

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSecretEndingInQuoteLeavesValidJSON(t *testing.T) {
	t.Parallel()
	k := NewValues([]string{`pass<word"`})
	for _, text := range []string{`{"a":"pass<word\""}`, `{"a":"pass\u003cword\""}`, `{"a":"pass<word\" and more"}`} {
		got := string(k.Redact([]byte(text), 0))
		assert.Truef(t, json.Valid([]byte(got)) && strings.Contains(got, Mark), "%s became %s", text, got)
	}
}

// TestLongSecretIsRedactedWhole also where it is longer than what one search looks for.
func TestLongSecretIsRedactedWhole(t *testing.T) {
	t.Parallel()
	for _, size := range []int{maxSecretBytes - 1, maxSecretBytes, maxSecretBytes + 1, 2 * maxSecretBytes, 3*maxSecretBytes + 5} {
		var secret strings.Builder
		for n := 0; secret.Len() < size; n++ {
			fmt.Fprintf(&secret, "é%06d\n", n)
		}
		quoted, _ := json.Marshal(secret.String())
		got := string(NewValues([]string{secret.String()}).Redact(quoted, 0))
		left := strings.ReplaceAll(got, Mark, "")
		assert.Truef(t, len(left) <= len(`"\n"`) && json.Valid([]byte(got)), "of %d bytes %d are left: %.80s", size, len(left), left)
	}
}

// TestManySecretValuesAreAllRedacted in its own spelling before any is in a rare one.
func TestManySecretValuesAreAllRedacted(t *testing.T) {
	t.Parallel()
	var list []string
	for n := range maxSecretEncodings {
		list = append(list, fmt.Sprintf("%05d secret/of <%d>", n, n))
	}
	k := NewValues(list)
	for _, v := range list {
		require.Equalf(t, Mark, string(k.Redact([]byte(v), 0)), "%q", v)
	}
	assert.Equal(t, 0, k.missed)
	assert.Equal(t, 1, NewValues(append(list, "one more secret")).missed)
}
