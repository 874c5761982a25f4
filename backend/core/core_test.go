package core

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSlugIsValidServerID(t *testing.T) {
	for label, want := range map[string]string{
		"files":                        "files",
		"My Server":                    "My-Server",
		"a__b":                         "a-b",
		"a_b":                          "a_b",
		"@scope/pkg":                   "scope-pkg",
		"  ":                           "",
		"日本":                           "",
		"x.":                           "x",
		strings.Repeat("ab", 40):       strings.Repeat("ab", 16),
		strings.Repeat("a", 31) + " b": strings.Repeat("a", 31),
	} {
		got := Slug(label)
		assert.Equalf(t, want, got, "Slug(%q)", label)
		assert.Falsef(t, got != "" && !ValidServerID(got), "Slug(%q) = %q, which is not a server id", label, got)
	}
}

func FuzzSlugIsValidServerID(f *testing.F) {
	f.Add("My Server_ 2")
	f.Fuzz(func(t *testing.T, label string) {
		got := Slug(label)
		require.Falsef(t, got != "" && !ValidServerID(got), "Slug(%q) = %q, which is not a server id", label, got)
	})
}

func TestServerIDsNeverContainSeparator(t *testing.T) {
	for _, id := range []string{"a__b", "_a", "a_", "-a", "a--b", "a b", "", "é", strings.Repeat("a", 33)} {
		assert.Falsef(t, ValidServerID(id), "%q passes as a server id", id)
	}
}

func TestCodeOfFindsTheCodeThroughWrapping(t *testing.T) {
	wrapped := fmt.Errorf("cannot call: %w", Errorf(CodeBreakerOpen, "server %q rests", "files"))
	for err, want := range map[error]Code{
		wrapped:                  CodeBreakerOpen,
		context.DeadlineExceeded: CodeTimeout,
		context.Canceled:         CodeCancelled,
		errors.New("boom"):       CodeInternal,
	} {
		assert.Equalf(t, want, CodeOf(err), "CodeOf(%v)", err)
	}
	assert.Empty(t, CodeOf(nil))
}

func TestDescribeHidesTextOfForeignErrors(t *testing.T) {
	message, _ := Describe(errors.New("open /home/me/.ssh/id: denied"))
	require.NotContains(t, message, "ssh", "shown to people")
	err := &Error{Code: CodeUnavailable, Message: "server is away", Cause: errors.New("token=abc")}
	message, _ = Describe(err)
	require.NotContains(t, message, "abc", "shown to people")
}

func TestErrorNamesItsCauseOnce(t *testing.T) {
	cause := errors.New("executable not found")
	for message, want := range map[string]string{
		"cannot start":                       "cannot start: executable not found",
		"cannot start: executable not found": "cannot start: executable not found",
		"executable":                         "executable not found",
	} {
		assert.Equal(t, want, (&Error{Message: message, Cause: cause}).Error())
	}
}
