package main

import "testing"

func TestLeftoversOfEarlierRunAreReported(t *testing.T) {
	for l, want := range map[cleanupResult]string{
		{}:     "",
		{1, 0}: "Ended 1 process that an earlier run left behind.",
		{2, 0}: "Ended 2 processes that an earlier run left behind.",
		{0, 2}: "Ended 2 processes in containers that an earlier run left behind.",
		{2, 1}: "Ended 2 processes and 1 in containers that an earlier run left behind.",
	} {
		got := l.notices()
		if (want == "") != (len(got) == 0) || want != "" && (got[0].Message != want || got[0].Subject != "cleanup") {
			t.Errorf("%+v: %+v", l, got)
		}
	}
}
