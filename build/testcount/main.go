// Command testcount counts tests for make test.
//
//	go test -json ... | testcount go FILE     reads the events, prints the output of failed tests, why tests were skipped, and the count
//	testcount vitest FILE REPORT              reads vitest's JSON report and prints the count
//	testcount total FILE [-strict]            prints the sum of all counts in FILE
//	testcount slowest FILE                    prints the 50 slowest tests of FILE, the events of go test -json
//	testcount repeat FILE                     prints a pattern for -run of the failed tests of FILE, if they are few
//
// It exits with 1 if a test failed; total -strict, with CI=true, also if one was skipped.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

type count struct{ passed, failed, skipped int }

func (c count) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", c.passed, c.failed, c.skipped)
}

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout, os.Getenv("CI") == "true"); err != nil {
		fmt.Fprintln(os.Stderr, "testcount:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer, strict bool) error {
	switch {
	case len(args) == 2 && args[0] == "go":
		c, broken, err := goTests(in, out)
		if err != nil {
			return err
		}
		return saveCounts(args[1], c, broken, out)
	case len(args) == 3 && args[0] == "vitest":
		c, err := vitest(args[2])
		if err != nil {
			return err
		}
		return saveCounts(args[1], c, c.passed == 0, out)
	case len(args) == 2 && args[0] == "total", len(args) == 3 && args[0] == "total" && args[2] == "-strict":
		c, err := total(args[1])
		if err != nil {
			return err
		}
		fmt.Fprintln(out, c)
		if c.failed > 0 || c.passed == 0 {
			return fmt.Errorf("%d of %d tests failed", c.failed, c.passed+c.failed)
		}
		if strict && len(args) == 3 && c.skipped > 0 {
			return fmt.Errorf("%d tests were skipped, and CI must run them all", c.skipped)
		}
		return nil
	case len(args) == 2 && args[0] == "slowest":
		return slowest(args[1], 50, out)
	case len(args) == 2 && args[0] == "repeat":
		return printRepeatPattern(args[1], out)
	}
	return fmt.Errorf("usage: testcount go FILE | testcount vitest FILE REPORT | testcount total FILE [-strict] | testcount slowest FILE | testcount repeat FILE")
}

// event is one line of the output of go test -json.
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64
}

// goTests prints the output of failed tests, and each reason for skipped tests with their number.
// A test that passes after it failed is flaky: it counts as passed, and a line names it. broken
// reports that a package failed outside of any test.
func goTests(in io.Reader, out io.Writer) (c count, broken bool, err error) {
	output := map[string][]string{} // by package and test
	failed := map[string]bool{}     // by package and test
	skips := skipReasons{}
	defer func() { skips.print(out) }()
	lines := bufio.NewReader(in)
	for {
		line, readErr := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				fmt.Fprintf(out, "%s", line)
				continue
			}
			key := e.Package + " " + e.Test
			switch e.Action {
			case "output":
				output[key] = append(output[key], e.Output)
				continue
			case "build-output":
				fmt.Fprint(out, e.Output)
				continue
			case "build-fail":
				broken = true
				continue
			case "pass", "fail", "skip":
			default:
				continue
			}
			if e.Test == "" {
				broken = e.Action == "fail" || broken && !failed[key]
				if e.Action == "fail" {
					fmt.Fprintf(out, "FAIL %s %.1fs\n", e.Package, e.Elapsed)
					for _, unended := range slices.Sorted(maps.Keys(output)) {
						if strings.HasPrefix(unended, key) && unended != key {
							fmt.Fprint(out, strings.Join(output[unended], ""))
						}
					}
				}
			} else {
				if failed[key] {
					c.failed--
					if e.Action == "pass" {
						fmt.Fprintf(out, "flaky: %s\n", e.Test)
					}
				}
				c.add(e.Action)
			}
			failed[key] = e.Action == "fail"
			if e.Action == "fail" {
				fmt.Fprint(out, strings.Join(output[key], ""))
				repeatReason(output[key], out)
			}
			if e.Action == "skip" && e.Test != "" {
				skips.add(output[key])
			}
			delete(output, key)
		}
		if readErr == io.EOF {
			return c, broken, nil
		}
		if readErr != nil {
			return c, broken, readErr
		}
	}
}

// repeatReason prints the first lines of a long output again, because the reason of a failure is
// there, and the logs that follow it hide it from whoever sees only the end.
func repeatReason(output []string, out io.Writer) {
	const long, lines = 40, 10
	output = slices.DeleteFunc(output, func(line string) bool { return strings.HasPrefix(line, "=== ") })
	if len(output) > long {
		fmt.Fprintf(out, "It began with:\n%s", strings.Join(output[:lines], ""))
	}
}

// slowest prints the n top-level tests of file that took longest, with their seconds. The time of a
// parallel test counts from its start to its end, so it includes its waits for a processor.
func slowest(file string, n int, out io.Writer) error {
	src, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	done := topLevelResults(src)
	slices.SortStableFunc(done, func(a, b event) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
	for _, e := range done[:min(n, len(done))] {
		fmt.Fprintf(out, "%7.1f  %s  %s\n", e.Elapsed, e.Package, e.Test)
	}
	return nil
}

// topLevelResults returns the events that end a top-level test of src.
func topLevelResults(src []byte) (done []event) {
	for line := range bytes.Lines(src) {
		var e event
		if json.Unmarshal(line, &e) != nil {
			continue // output of the compiler
		}
		if (e.Action == "pass" || e.Action == "fail") && e.Test != "" && !strings.Contains(e.Test, "/") {
			done = append(done, e)
		}
	}
	return done
}

// maxRepeats is how many failed tests may run again. If more fail, it is not by chance.
const maxRepeats = 3

// printRepeatPattern prints a pattern of the failed top-level tests of file. It prints nothing if
// they are more than maxRepeats, or if the test program did not run to its end, because then others
// never ran.
func printRepeatPattern(file string, out io.Writer) error {
	src, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var names []string
	for _, e := range topLevelResults(src) {
		if e.Action == "fail" {
			names = append(names, e.Test)
		}
	}
	ended := bytes.Contains(src, []byte(`"Output":"FAIL\n"`)) // printed after the last test
	if ended && len(names) > 0 && len(names) <= maxRepeats {
		fmt.Fprintf(out, "^(%s)$\n", strings.Join(names, "|"))
	}
	return nil
}

func (c *count) add(action string) {
	switch action {
	case "pass":
		c.passed++
	case "fail":
		c.failed++
	case "skip":
		c.skipped++
	}
}

func vitest(report string) (c count, err error) {
	src, err := os.ReadFile(report)
	if err != nil {
		return c, err
	}
	var r struct {
		NumPassedTests, NumFailedTests, NumPendingTests, NumTodoTests int
	}
	if err := json.Unmarshal(src, &r); err != nil {
		return c, err
	}
	return count{r.NumPassedTests, r.NumFailedTests, r.NumPendingTests + r.NumTodoTests}, nil
}

// skipReasons counts skipped tests by reason.
type skipReasons map[string]int

func (r skipReasons) add(output []string) {
	for _, line := range output {
		// A reason has the form "    file_test.go:12: why"; the other lines are of go test.
		if place, why, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && strings.Contains(place, ".go:") {
			r[why]++
			return
		}
	}
	r["no reason given"]++
}

func (r skipReasons) print(out io.Writer) {
	for _, why := range slices.Sorted(maps.Keys(r)) {
		fmt.Fprintf(out, "skipped %d: %s\n", r[why], why)
	}
}

// saveCounts appends c to file and prints it. A broken package counts as one more failure.
func saveCounts(file string, c count, broken bool, out io.Writer) error {
	if broken && c.failed == 0 {
		c.failed = 1
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	fmt.Fprintln(f, c)
	fmt.Fprintln(out, c)
	if err := f.Close(); err != nil {
		return err
	}
	if c.failed > 0 {
		return fmt.Errorf("%s", c)
	}
	return nil
}

func total(file string) (sum count, err error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return sum, err
	}
	for line := range strings.Lines(string(src)) {
		var c count
		if _, err := fmt.Sscanf(line, "%d passed, %d failed, %d skipped", &c.passed, &c.failed, &c.skipped); err != nil {
			return sum, fmt.Errorf("cannot read %q: %w", line, err)
		}
		sum.passed += c.passed
		sum.failed += c.failed
		sum.skipped += c.skipped
	}
	return sum, nil
}
