package core

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
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
		if got != want {
			t.Errorf("Slug(%q) = %q, want %q", label, got, want)
		}
		if got != "" && !ValidServerID(got) {
			t.Errorf("Slug(%q) = %q, which is not a server id", label, got)
		}
	}
}

func FuzzSlugIsValidServerID(f *testing.F) {
	f.Add("My Server_ 2")
	f.Fuzz(func(t *testing.T, label string) {
		if got := Slug(label); got != "" && !ValidServerID(got) {
			t.Fatalf("Slug(%q) = %q, which is not a server id", label, got)
		}
	})
}

func TestServerIDsNeverContainSeparator(t *testing.T) {
	for _, id := range []string{"a__b", "_a", "a_", "-a", "a--b", "a b", "", "é", strings.Repeat("a", 33)} {
		if ValidServerID(id) {
			t.Errorf("%q passes as a server id", id)
		}
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
		if got := CodeOf(err); got != want {
			t.Errorf("CodeOf(%v) = %q, want %q", err, got, want)
		}
	}
	if got := CodeOf(nil); got != "" {
		t.Errorf("CodeOf(nil) = %q", got)
	}
}

func TestDescribeHidesTextOfForeignErrors(t *testing.T) {
	if message, _ := Describe(errors.New("open /home/me/.ssh/id: denied")); strings.Contains(message, "ssh") {
		t.Fatalf("shown to people: %q", message)
	}
	err := &Error{Code: CodeUnavailable, Message: "server is away", Cause: errors.New("token=abc")}
	if message, _ := Describe(err); strings.Contains(message, "abc") {
		t.Fatalf("shown to people: %q", message)
	}
}

func TestErrorNamesItsCauseOnce(t *testing.T) {
	cause := errors.New("executable not found")
	for message, want := range map[string]string{
		"cannot start":                       "cannot start: executable not found",
		"cannot start: executable not found": "cannot start: executable not found",
		"executable":                         "executable not found",
	} {
		if got := (&Error{Message: message, Cause: cause}).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
