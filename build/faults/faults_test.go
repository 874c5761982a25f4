//go:build e2e && linux && amd64

package faults

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// errorsOf are the errors that fit each call. Those with + stay until the scenario is over.
var errorsOf = map[string][]unix.Errno{
	"openat":     {unix.EMFILE, unix.EACCES, unix.EIO, unix.EROFS, unix.EINTR, unix.ENOSPC, unix.ENOMEM, unix.ENFILE, unix.EPERM, unix.EDQUOT},
	"openat+":    {unix.EROFS, unix.ENOSPC, unix.EACCES, unix.EIO},
	"write":      {unix.EIO, unix.ENOSPC, unix.EINTR, unix.ENOMEM, unix.EDQUOT},
	"write+":     {unix.EIO, unix.ENOSPC},
	"pwrite64":   {unix.EIO, unix.ENOSPC, unix.EINTR, unix.ENOMEM, unix.EDQUOT, unix.EFBIG},
	"pwrite64+":  {unix.EIO, unix.ENOSPC},
	"pread64":    {unix.EIO, unix.EINTR, unix.ENOMEM, unix.EACCES},
	"fsync":      {unix.EIO, unix.ENOSPC, unix.EINTR, unix.EROFS, unix.EDQUOT},
	"fsync+":     {unix.EIO, unix.ENOSPC},
	"ftruncate":  {unix.EIO, unix.ENOSPC, unix.EROFS, unix.EINTR, unix.EDQUOT, unix.EPERM},
	"ftruncate+": {unix.EIO, unix.ENOSPC},
	"rename":     {unix.EIO, unix.ENOSPC, unix.EACCES, unix.EROFS, unix.ENOMEM, unix.EDQUOT, unix.EPERM, unix.EBUSY},
	"rename+":    {unix.EIO, unix.ENOSPC, unix.EACCES, unix.EROFS},
	"unlink":     {unix.EIO, unix.EACCES, unix.EROFS, unix.ENOMEM, unix.EPERM, unix.EBUSY},
	"unlink+":    {unix.EIO, unix.EACCES, unix.EROFS},
	"mkdir":      {unix.EIO, unix.ENOSPC, unix.EACCES, unix.EROFS, unix.ENOMEM, unix.EDQUOT, unix.EPERM},
	"mkdir+":     {unix.EIO, unix.ENOSPC, unix.EACCES, unix.EROFS},
	"flock":      {unix.EINTR, unix.EIO, unix.ENOLCK, unix.ENOMEM},
	"fcntl":      {unix.EINTR, unix.EACCES, unix.EAGAIN, unix.ENOLCK, unix.EIO},
	"clone":      {unix.EAGAIN, unix.ENOMEM},
	"execve":     {unix.EACCES, unix.ENOMEM, unix.EIO, unix.EAGAIN, unix.EMFILE, unix.EPERM, unix.ENFILE},
	"pipe2":      {unix.EMFILE, unix.ENFILE, unix.ENOMEM},
	"socket":     {unix.EMFILE, unix.ENOMEM, unix.EACCES, unix.ENFILE, unix.ENOBUFS},
	"accept4":    {unix.EMFILE, unix.EINTR, unix.ENOMEM, unix.ENFILE, unix.ENOBUFS},
	"connect":    {unix.EACCES, unix.EINTR, unix.EAGAIN, unix.ENOMEM, unix.ENOBUFS},
	"epoll_ctl":  {unix.ENOMEM, unix.ENOSPC, unix.EPERM},
	"mmap":       {unix.ENOMEM, unix.EAGAIN},
}

// runner runs one scenario with one failure after the other.
type runner struct {
	t     *testing.T
	s     scenario
	dir   string // of the program
	base  string // the prepared folders
	p     *program
	seen  int // bytes of the log that were examined
	tried map[string]int
	bad   map[string]int
	again bool // a failure is tried again, because the machine may have been too busy the first time
}

// The budget of a scenario is DRAWBRIDGE_FAULTS_TIME, shared by all; without it, every call is failed with each
// error. The order is drawn anew in each run, so that many short runs are as good as a long one.
func TestEveryFailedCallIsSurvivedOrExplained(t *testing.T) {
	needsBinary(t)
	budget := 400 * time.Hour
	if text := os.Getenv("DRAWBRIDGE_FAULTS_TIME"); text != "" {
		all, err := time.ParseDuration(text)
		must(err)
		budget = all / time.Duration(len(scenarios))
	}
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			r := &runner{t: t, s: s, dir: t.TempDir(), tried: map[string]int{}, bad: map[string]int{}}
			r.all(budget)
		})
	}
}

func (r *runner) all(budget time.Duration) {
	r.base, r.dir = filepath.Join(r.dir, "base"), filepath.Join(r.dir, "run")
	must(os.MkdirAll(filepath.Join(r.dir, "data"), 0o700))
	must(os.MkdirAll(filepath.Join(r.dir, "home"), 0o700))
	r.s.prepare(r.dir)
	must(os.Rename(r.dir, r.base)) // files contain the path, so each run has the same one
	counts := r.once(order{}).Counts
	r.t.Log("calls:", counts)
	var orders []order
	for call, n := range counts {
		for i := range n + n/10 + 1 {
			for _, e := range errorsOf[call] {
				orders = append(orders, order{call, int(e), i + 1})
			}
		}
	}
	rand.Shuffle(len(orders), func(i, j int) { orders[i], orders[j] = orders[j], orders[i] })
	if only := os.Getenv("DRAWBRIDGE_FAULTS_ONLY"); only != "" { // such as rename/5/2: the call, the error and n
		var o order
		f := strings.Split(only, "/")
		o.Call = f[0]
		_, _ = fmt.Sscan(f[1], &o.Error)
		_, _ = fmt.Sscan(f[2], &o.N)
		orders = []order{o}
	}
	done, deadline := r.journal(), time.Now().Add(budget)
	for _, o := range orders {
		if time.Now().After(deadline) {
			break
		}
		if done[r.name(o)] {
			continue
		}
		began := time.Now()
		s := r.once(o)
		if took := time.Since(began); took > 3*time.Second {
			r.t.Logf("%s took %s (DRAWBRIDGE_FAULTS_ONLY=%s/%d/%d)", s.Failed, took, o.Call, o.Error, o.N)
		}
	}
	r.end()
	sum := 0
	for _, call := range slices.Sorted(maps.Keys(r.tried)) {
		sum += r.tried[call]
		r.t.Logf("%-30s %-10s %6d tried %4d violations", r.s.name, call, r.tried[call], r.bad[call])
	}
	r.t.Logf("%-30s %-10s %6d tried of %d", r.s.name, "all", sum, len(orders))
}

// once runs the scenario with one failure.
func (r *runner) once(o order) state {
	if r.s.whole {
		return r.onceWhole(o)
	}
	if r.p == nil {
		r.begin()
	}
	if _, err := r.p.order(o); err != nil {
		r.t.Fatal(err)
	}
	kept := r.s.act(r.p)
	s, err := r.p.order(order{})
	if err != nil {
		r.t.Fatal(err)
	}
	r.count(o, s)
	if s.Ended {
		r.report(o, s, tail(r.p), r.explained(s))
		r.end()
		r.begin()
	}
	r.report(o, s, tail(r.p), r.keeps(kept), r.p.works(), r.intact())
	return s
}

// begin starts the program for scenarios that use one run for many failures.
func (r *runner) begin() {
	if _, err := os.Stat(r.dir); err != nil {
		must(os.CopyFS(r.dir, os.DirFS(r.base)))
	}
	p, err := start(r.dir, order{})
	must(err)
	r.p, r.seen = p, 0
	if err := errors.Join(p.ready(), p.works()); err != nil {
		r.t.Fatalf("the next start fails: %v\n%s", err, p.log)
	}
}

func (r *runner) end() {
	if r.p == nil {
		return
	}
	if _, err := r.p.stop(); err != nil {
		r.t.Error(err)
	}
	r.p = nil
}

// onceWhole fails a call of a start or of a stop, and then starts again.
func (r *runner) onceWhole(o order) state {
	must(os.RemoveAll(r.dir))
	must(os.CopyFS(r.dir, os.DirFS(r.base)))
	var first order
	if r.s.name != "stop" {
		first = o
	}
	p, err := start(r.dir, first)
	must(err)
	r.p, r.seen = p, 0
	if r.s.name == "stop" {
		err := errSlow
		for range 5 { // nothing has failed yet, so the machine is busy
			if errors.Is(err, errSlow) {
				err = errors.Join(p.ready(), p.works())
			}
		}
		must(err)
		_, err = p.order(o)
		must(err)
	}
	kept := r.s.act(p)
	s, err := p.order(order{})
	if err != nil {
		r.t.Fatal(err)
	}
	r.count(o, s)
	var failures []error
	if s.Ended && (s.Code != 0 || r.s.name != "stop") {
		failures = append(failures, r.explained(s))
	} else if r.s.name != "stop" {
		err := p.ready()
		if errors.Is(err, errEnded) { // meanwhile
			if s.Code, s.Ended = p.over(); s.Ended {
				err = r.explained(s)
			}
		} else {
			err = errors.Join(err, r.keeps(kept))
		}
		failures = append(failures, err)
	}
	code, err := p.stop()
	late := strings.Contains(p.log.String(), "still running after") // on a busy machine; close verifies that nothing is left
	if !s.Ended && code != 0 && !late {
		err = errors.Join(err, fmt.Errorf("exit %d", code))
	}
	failures = append(failures, err, r.intact())
	said := tail(r.p)
	r.p = startUntraced(r.dir)
	if err := r.p.ready(); err != nil {
		failures = append(failures, fmt.Errorf("the next start fails: %w\n%s", err, r.p.log))
	} else {
		failures = append(failures, r.keeps(kept))
		if r.s.name == "first start" {
			failures = append(failures, r.p.undone())
		} else {
			failures = append(failures, r.p.works())
		}
	}
	if r.s.name == "stop" {
		failures = append(failures, r.intact())
	}
	said += "\nnext start: " + tail(r.p)
	r.end()
	r.report(o, s, said, failures...)
	return s
}

func (r *runner) keeps(kept promise) error {
	failures := []error{r.p.recorded(kept.calls)}
	if kept.check != nil {
		failures = append(failures, kept.check(r.p))
	}
	for _, err := range kept.errs {
		if said := (refusal{}); errors.As(err, &said) && !explains(said.body) {
			failures = append(failures, fmt.Errorf("the refusal has no reason: %w", err))
		}
	}
	return errors.Join(failures...)
}

func (r *runner) count(o order, s state) {
	if s.Failed != "" && !r.again {
		r.tried[o.Call]++
		r.write(o, s.Failed)
	}
}

func (r *runner) name(o order) string {
	return fmt.Sprintf("%s\t%s/%d/%d", r.s.name, o.Call, o.Error, o.N)
}

// journal returns what earlier runs tried, by the file DRAWBRIDGE_FAULTS_JOURNAL. A run with it goes on where the
// last one ended.
func (r *runner) journal() map[string]bool {
	done := map[string]bool{}
	src, _ := os.ReadFile(os.Getenv("DRAWBRIDGE_FAULTS_JOURNAL"))
	for line := range strings.Lines(string(src)) {
		if f := strings.Split(line, "\t"); len(f) == 3 {
			done[f[0]+"\t"+f[1]] = true
		}
	}
	return done
}

func (r *runner) write(o order, what string) {
	file, err := os.OpenFile(os.Getenv("DRAWBRIDGE_FAULTS_JOURNAL"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return // there is none
	}
	_, err = fmt.Fprintf(file, "%s\t%s\n", r.name(o), strings.ReplaceAll(what, "\n", " "))
	must(errors.Join(err, file.Close()))
}

func (r *runner) report(o order, s state, log string, failures ...error) {
	err := errors.Join(failures...)
	if err == nil {
		return
	}
	if errors.Is(err, errSlow) && !r.again {
		r.t.Logf("tried again: %s (DRAWBRIDGE_FAULTS_ONLY=%s/%d/%d):\n%v\nlog: %s", s.Failed, o.Call, o.Error, o.N, err, log)
		r.end()
		r.again = true
		r.once(o)
		r.again = false
		return
	}
	r.bad[o.Call]++
	r.write(o, "VIOLATION")
	r.t.Errorf("%s: %s (DRAWBRIDGE_FAULTS_ONLY=%s/%d/%d):\n%v\nlog: %s", r.s.name, s.Failed, o.Call, o.Error, o.N, err, log)
}

func tail(p *program) string {
	s := p.log.String()
	return s[max(0, len(s)-1500):]
}

// remedy is what an error says the user can do, or a reason that the system gives for itself.
var remedy = regexp.MustCompile(`(?i)"hint":|choose|free |make |check|start |stop |set |run:|use |close |try |restore|again`)

// explained reports whether a program that ended said why: with a file and a remedy, or as a crash of Go itself,
// which cannot go on without memory and threads.
func (r *runner) explained(s state) error {
	text := r.p.log.String()
	if s.Code == 0 {
		return errors.New("the program ended with 0")
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := strings.Join(lines[max(0, len(lines)-2):], " ") // the message and its hint
	for _, fatal := range []string{"fatal error: ", "runtime: ", "failed to create new OS thread"} {
		if strings.Contains(text, fatal) {
			return nil
		}
	}
	if strings.HasPrefix(s.Failed, "mmap ") && strings.Contains(text, "SIGSEGV: ") {
		return nil // the garbage collector of Go 1.26 does not expect it
	}
	if !strings.ContainsAny(last, "/:") || !remedy.MatchString(last) {
		return fmt.Errorf("the program ended with %d, and its last line is not a file and a remedy: %q", s.Code, last)
	}
	return nil
}

func explains(body string) bool {
	return strings.Contains(body, `"detail":`) || strings.Contains(body, "Error:") && !strings.Contains(body, "Error: ")
}

// intact reports whether the secret is in an output, or the history was lost.
func (r *runner) intact() error {
	files, err := filepath.Glob(filepath.Join(r.p.data(), "logs/*"))
	if err != nil {
		return err
	}
	if aside, err := filepath.Glob(filepath.Join(r.p.data(), "history.db.damaged-*")); err != nil || len(aside) > 0 {
		for _, file := range aside {
			_ = os.Remove(file)
		}
		return fmt.Errorf("the history was set aside: %q", aside)
	}
	if strings.Contains(r.p.log.String(), secret) {
		return errors.New("the secret is in the output")
	}
	for _, file := range files {
		if src, err := os.ReadFile(file); err == nil && strings.Contains(string(src), secret) {
			return fmt.Errorf("the secret is in %s", file)
		}
	}
	return nil
}
