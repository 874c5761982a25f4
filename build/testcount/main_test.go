package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func tally(t *testing.T, strict bool, events string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "counts")
	var out strings.Builder
	noted := run([]string{"go", file}, strings.NewReader(events), &out, strict)
	sum := run([]string{"total", file, "-strict"}, nil, &out, strict)
	assert.Falsef(t, noted != nil && sum == nil, "the stage failed with %v, the total did not", noted)
	return out.String(), sum
}

const passing = `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"quiet\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Elapsed":0.2}
`

func TestPassingRunPrintsOnlyCount(t *testing.T) {
	out, err := tally(t, true, passing)
	require.Truef(t, err == nil && strings.HasSuffix(out, "\n1 passed, 0 failed, 0 skipped\n") && !strings.Contains(out, "quiet"), "%v\n%s", err, out)
}

func TestFailureIsShownAndFails(t *testing.T) {
	out, err := tally(t, false, passing+`{"Action":"output","Package":"p","Test":"TestB","Output":"want 1\n"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"fail","Package":"p"}
`)
	require.Truef(t, err != nil && strings.Contains(out, "want 1") && strings.Contains(out, "1 passed, 1 failed, 0 skipped"), "%v\n%s", err, out)
}

func TestReasonOfFailureIsRepeatedAfterLongLogs(t *testing.T) {
	line := func(text string) string {
		return `{"Action":"output","Package":"p","Test":"TestB","Output":"` + text + `\n"}` + "\n"
	}
	out, _ := tally(t, false, passing+line("=== RUN   TestB")+line("    b_test.go:7: want 1")+strings.Repeat(line("log"), 50)+
		`{"Action":"fail","Package":"p","Test":"TestB"}`+"\n")
	_, end, ok := strings.Cut(out, "It began with:\n")
	require.Truef(t, ok && strings.HasPrefix(end, "    b_test.go:7: want 1\n"), "the reason is not at the end:\n%s", out)
}

// The result of a test is missing if its program was ended.
func TestOutputOfTestsThatNeverEndedIsShown(t *testing.T) {
	out, err := tally(t, false, passing+`{"Action":"output","Package":"p","Test":"TestB","Output":"fatal: two writers\n"}
{"Action":"fail","Package":"p"}
`)
	require.Error(t, err)
	assert.Contains(t, out, "fatal: two writers")
}

func TestRepeatedTestsCountByTheirLastResult(t *testing.T) {
	const fails = `{"Action":"fail","Package":"p","Test":"TestB/case"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"fail","Package":"p"}
`
	passes := strings.ReplaceAll(fails, "fail", "pass")
	out, err := tally(t, true, passing+fails+passes)
	if err != nil || !strings.Contains(out, "flaky: TestB\n") || !strings.Contains(out, "3 passed, 0 failed, 0 skipped") {
		t.Errorf("a flaky test: %v\n%s", err, out)
	}
	if out, err := tally(t, true, passing+fails+fails); err == nil || !strings.Contains(out, "1 passed, 2 failed, 0 skipped") {
		t.Errorf("a test that fails twice: %v\n%s", err, out)
	}
	other := strings.ReplaceAll(passes, `"p"`, `"q"`)
	if out, err := tally(t, true, passing+fails+other); err == nil || strings.Contains(out, "flaky") {
		t.Errorf("another package's test passes: %v\n%s", err, out)
	}
}

func TestOnlyFewFailedTestsAreRepeated(t *testing.T) {
	for names, want := range map[string]string{"": "", "A B": "^(TestA|TestB)$\n", "A B C D": "", "A panic": ""} {
		file := filepath.Join(t.TempDir(), "events")
		events := passing
		if !strings.HasSuffix(names, "panic") { // a test program that panics does not print this
			events += `{"Action":"output","Package":"p","Output":"FAIL\n"}` + "\n"
		}
		for name := range strings.FieldsSeq(strings.TrimSuffix(names, "panic")) {
			events += `{"Action":"fail","Package":"p","Test":"Test` + name + `/case"}` + "\n" + `{"Action":"fail","Package":"p","Test":"Test` + name + `"}` + "\n"
		}
		require.NoError(t, os.WriteFile(file, []byte(events), 0o600))
		var out strings.Builder
		if err := run([]string{"repeat", file}, nil, &out, false); err != nil || out.String() != want {
			t.Errorf("of %q: %q, %v, want %q", names, out.String(), err, want)
		}
	}
}

func TestBrokenPackageFails(t *testing.T) {
	out, err := tally(t, false, passing+`{"ImportPath":"q","Action":"build-output","Output":"syntax error\n"}
{"ImportPath":"q","Action":"build-fail"}
`)
	require.Error(t, err)
	require.Contains(t, out, "syntax error")
}

func TestSkipFailsOnlyInCI(t *testing.T) {
	events := passing + `{"Action":"output","Package":"p","Test":"TestC","Output":"=== RUN   TestC\n"}
{"Action":"output","Package":"p","Test":"TestC","Output":"    c_test.go:3: no docker: not found\n"}
{"Action":"skip","Package":"p","Test":"TestC"}
`
	out, err := tally(t, false, events)
	require.Truef(t, err == nil && strings.Contains(out, "skipped 1: no docker: not found\n"), "%v\n%s", err, out)
	_, err = tally(t, true, events)
	require.Error(t, err, "a skipped test passes in CI")
}

func TestZeroTestsFail(t *testing.T) {
	_, err := tally(t, false, "")
	require.Error(t, err, "nothing ran, and it passes")
}

func TestVitestReportIsCounted(t *testing.T) {
	dir := t.TempDir()
	report, file := filepath.Join(dir, "report.json"), filepath.Join(dir, "counts")
	os.WriteFile(report, []byte(`{"numPassedTests":4,"numFailedTests":0,"numPendingTests":1,"numTodoTests":1}`), 0o600)
	require.NoError(t, run([]string{"vitest", file, report}, nil, io.Discard, false))
	c, err := total(file)
	require.Truef(t, err == nil && c == (count{4, 0, 2}), "%v %v", c, err)
}

func TestSlowestTestsAreListedFirst(t *testing.T) {
	file := filepath.Join(t.TempDir(), "events")
	events := `{"Action":"pass","Package":"p","Test":"TestQuick","Elapsed":0.1}
# p
{"Action":"pass","Package":"p","Test":"TestSlow/part","Elapsed":8}
{"Action":"fail","Package":"p","Test":"TestSlow","Elapsed":9}
`
	require.NoError(t, os.WriteFile(file, []byte(events), 0o600))
	var out strings.Builder
	require.NoError(t, run([]string{"slowest", file}, nil, &out, false))
	assert.Equal(t, "    9.0  p  TestSlow\n    0.1  p  TestQuick\n", out.String())
}
