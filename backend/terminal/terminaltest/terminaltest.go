// Package terminaltest runs the commands of a feature in its tests, with a daemon whose answers the
// test sets. It is never shipped.
package terminaltest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
)

// Daemon is the API of a daemon that runs in the test, with real HTTP and a real lock, runtime file
// and token.
type Daemon struct {
	Data  string // its data folder
	Mux   *http.ServeMux
	Token string

	t        *testing.T
	commands []terminal.Commands
}

// Stopped is a daemon that does not run.
func Stopped(t *testing.T, commands ...terminal.Commands) *Daemon {
	return &Daemon{Data: t.TempDir(), Mux: http.NewServeMux(), t: t, commands: commands}
}

// New starts a daemon for commands.
func New(t *testing.T, commands ...terminal.Commands) *Daemon {
	t.Helper()
	d := Stopped(t, commands...)
	if _, err := loopback.OpenAdminToken(d.Data); err != nil {
		t.Fatal(err)
	}
	d.Token, _ = loopback.ReadAdminToken(d.Data)
	lock, err := loopback.Lock(d.Data)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+d.Token {
			t.Errorf("%s %s without the admin token", r.Method, r.URL)
		}
		d.Mux.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { server.Close(); lock.Close() })
	if err := loopback.WriteRuntime(d.Data, loopback.Runtime{PID: os.Getpid(), URL: server.URL, Version: "1.2.3", StartedAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
	return d
}

// Answer sets the document that answers requests of pattern.
func (d *Daemon) Answer(pattern, body string) { d.answer(pattern, "application/json", 200, body) }

// NotFound answers requests of pattern with status 404 and the problem document doc.
func (d *Daemon) NotFound(pattern, doc string) {
	d.answer(pattern, "application/problem+json", http.StatusNotFound, doc)
}

func (d *Daemon) answer(pattern, kind string, status int, body string) {
	d.Mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// Result is how a command ended, and what it wrote.
type Result struct {
	Code     int
	Out, Err string
}

// Run runs a command, on a terminal or not, without input.
func (d *Daemon) Run(onTerminal bool, args ...string) Result {
	d.t.Helper()
	return d.RunIn(d.t.Context(), onTerminal, args...)
}

// RunIn is Run with a context.
func (d *Daemon) RunIn(ctx context.Context, onTerminal bool, args ...string) Result {
	d.t.Helper()
	return d.RunWith(ctx, func(e *terminal.Env) { e.Terminal = func() bool { return onTerminal } }, args...)
}

// Typed runs a command with text on standard input.
func (d *Daemon) Typed(text string, args ...string) Result {
	d.t.Helper()
	return d.RunWith(d.t.Context(), func(e *terminal.Env) { e.Stdin = strings.NewReader(text) }, args...)
}

// RunWith runs a command in a changed environment. Standard input and environment are empty and
// nothing is a terminal, unless change sets them.
func (d *Daemon) RunWith(ctx context.Context, change func(e *terminal.Env), args ...string) Result {
	d.t.Helper()
	return RunMain(ctx, d.Data, change, func(ctx context.Context, e terminal.Env, args []string) int {
		e.Complete()
		root := terminal.NewRoot(&e)
		for _, add := range d.commands {
			add(&e, root)
		}
		return terminal.Execute(ctx, &e, root, args)
	}, args...)
}

// RunMain is like RunWith, with the data folder data and another program.
func RunMain(ctx context.Context, data string, change func(e *terminal.Env), main func(ctx context.Context, e terminal.Env, args []string) int, args ...string) Result {
	var out, errOut bytes.Buffer
	e := terminal.Env{Version: "1.2.3", Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errOut, Getenv: func(string) string { return "" }, Terminal: func() bool { return false }, CompletionLimit: time.Minute}
	change(&e)
	code := main(ctx, e, append([]string{"--data", data}, args...))
	return Result{code, out.String(), errOut.String()}
}

// Answering is a user who answers text at a terminal, or a script if attended is false.
func Answering(text string, attended bool) func(e *terminal.Env) {
	return func(e *terminal.Env) {
		is := func() bool { return attended }
		e.Stdin, e.Terminal, e.Attended = strings.NewReader(text), is, is
	}
}
