package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"
	"github.com/drawbridge-mcp/drawbridge/backend/sandbox"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// SecretHolder is a holder of secrets that must never be recorded.
type SecretHolder interface{ KnownSecrets() []string }

// recorderRedaction passes to the recorder the values that it must never record: those of the
// configuration, with their variables expanded, and those of other holders.
type recorderRedaction struct {
	recorder *store.Recorder
	bus      *core.Bus
	log      *slog.Logger
	others   []SecretHolder
	changed  chan *config.Config // the newest configuration that run has not applied yet
	loginEnv func(context.Context) (map[string]string, error)
	rereads  <-chan struct{} // of the environment of the login shell

	mu     sync.Mutex // guards the fields below and the order of updates to the recorder
	now    *config.Config
	lookup func(string) (string, bool)
	missed int // secrets that exceeded the recorder's capacity, as last logged
}

func newRecorderRedaction(recorder *store.Recorder, bus *core.Bus, log *slog.Logger, others ...SecretHolder) *recorderRedaction {
	return &recorderRedaction{recorder: recorder, bus: bus, log: log, others: others, changed: make(chan *config.Config, 1), loginEnv: process.LoginEnv, rereads: process.LoginEnvRereads()}
}

// apply applies a new configuration. Variables of our own environment take effect immediately;
// those of the login shell follow later, because reading them may take seconds.
func (k *recorderRedaction) apply(c *config.Config) {
	process.SetLoginLimit(c.Global.LoginShellTimeout)
	k.set(c, os.LookupEnv)
	select {
	case <-k.changed:
	default:
	}
	k.changed <- c // never blocks: reload applies one configuration at a time
}

func (k *recorderRedaction) run(ctx context.Context) error {
	for {
		var c *config.Config
		select {
		case <-ctx.Done():
			return nil
		case c = <-k.changed:
		case <-k.rereads:
			if c = k.current(); c == nil {
				continue
			}
		}
		login, err := k.loginEnv(ctx)
		if ctx.Err() == nil {
			k.bus.Publish(core.NoticeEvent, loginNotice(err))
		}
		if err != nil || ctx.Err() != nil {
			continue
		}
		k.set(c, func(name string) (string, bool) {
			if v, ok := os.LookupEnv(name); ok {
				return v, true
			}
			v, ok := login[name]
			return v, ok
		})
	}
}

func (k *recorderRedaction) current() *config.Config {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now
}

func (k *recorderRedaction) set(c *config.Config, lookup func(string) (string, bool)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now, k.lookup = c, lookup
	k.updateRecorder(c, lookup)
}

// refresh passes the current secrets of all holders to the recorder.
func (k *recorderRedaction) refresh() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now != nil {
		k.updateRecorder(k.now, k.lookup)
	}
}

// updateRecorder must be called with k.mu held.
func (k *recorderRedaction) updateRecorder(c *config.Config, lookup func(string) (string, bool)) {
	values, others := configuredValues(c, lookup)
	for _, o := range k.others {
		values = append(values, o.KnownSecrets()...)
	}
	values = append(values, others...) // last, should there be too many
	var patterns []*regexp.Regexp
	for _, text := range c.History.Redact {
		if p, err := regexp.Compile(text); err == nil { // the configuration has been validated
			patterns = append(patterns, p)
		}
	}
	if missed := k.recorder.SetSecrets(values, patterns); missed != k.missed {
		k.missed = missed
		if missed > 0 {
			k.log.Warn("There are too many secrets: some are not redacted in the history. Set \"record\": \"meta\" for the servers that use them", "secrets", missed)
		}
	}
	ceiling, ofTool := make(map[string]store.RecordLevel, len(c.Servers)), make(map[store.Tool]store.RecordLevel)
	for i := range c.Servers {
		s := &c.Servers[i]
		ceiling[s.ID] = store.RecordLevel(s.Record)
		if s.Filter == nil {
			continue
		}
		for name, t := range s.Filter.Tools {
			if t.Record != "" {
				ofTool[store.Tool{Server: s.ID, Name: name}] = store.RecordLevel(t.Record)
			}
		}
	}
	k.recorder.SetCeiling(ceiling, ofTool)
}

// configuredValues returns the values in a configuration with names that suggest secrets, or from
// variables with such names, and the other values of environments, headers and variables, except
// ordinary ones.
func configuredValues(c *config.Config, lookup func(string) (string, bool)) (secrets, others []string) {
	f := secretFinder{lookup: lookup}
	for i := range c.Servers {
		s := &c.Servers[i]
		for name, value := range s.Env {
			f.addVariable(name, value)
		}
		for _, name := range s.InheritEnv {
			f.addVariable(name, "${"+name+":-}")
		}
		for name, value := range s.Headers {
			f.addVariable(name, value)
		}
		for _, a := range s.Accounts {
			for name, value := range a.Env {
				f.addVariable(name, value)
			}
			for name, value := range a.Headers {
				f.addVariable(name, value)
			}
		}
		before := ""
		for _, arg := range s.Args {
			f.add(strings.TrimLeft(before, "-"), arg)
			before = arg
			if name, value, ok := strings.Cut(arg, "="); ok {
				f.add(strings.TrimLeft(name, "-"), value)
				before = "" // NAME=VALUE says nothing about the argument after it
			}
		}
		for _, value := range []string{s.URL, s.Command, s.Cwd} {
			f.add("", value)
		}
	}
	for name, value := range c.Metrics.OTLP.Headers {
		f.addVariable(name, value)
	}
	return f.found, f.others
}

type secretFinder struct {
	lookup        func(string) (string, bool)
	found, others []string
}

// addVariable records the value of a variable or header.
func (f *secretFinder) addVariable(name, value string) { f.addOther(name, f.add(name, value)) }

func (f *secretFinder) addOther(name, value string) {
	if !redact.NamesSecret(name) && !redact.Ordinary(value) {
		f.others = append(f.others, value)
	}
}

// add records value if name suggests a secret, and the variables in it. It returns the expanded value.
func (f *secretFinder) add(name, value string) (expanded string) {
	if value == "" {
		return ""
	}
	expanded, err := config.Expand(value, func(variable string) (string, bool) {
		v, ok := f.lookup(variable)
		if ok && (redact.NamesSecret(variable) || strings.HasPrefix(variable, "secret:")) {
			f.found = append(f.found, v)
		}
		f.addOther(variable, v)
		return v, ok
	})
	if err != nil {
		return "" // the server does not start either
	}
	f.found = append(f.found, redact.Find(expanded)...)
	if redact.NamesSecret(name) {
		f.found = append(f.found, expanded)
		if scheme, rest, ok := strings.Cut(expanded, " "); ok && !strings.ContainsAny(scheme, ":=") {
			f.found = append(f.found, rest) // the part after "Bearer "
		}
	}
	return expanded
}

// secretReader returns a function that reads secrets. The recorder knows each secret before the
// caller gets it, and knows a new secret as soon as it is set.
func (k *recorderRedaction) secretReader(vault *secret.Store) func(context.Context, string) (string, error) {
	vault.OnLearned(k.refresh)
	return vault.Get
}

// privatePaths returns what no sandboxed server may read or write: our folders, the configuration
// files in use, which say what runs without a sandbox, the existing files of the clients, whose
// tokens let them call every server, and what the environment moves elsewhere.
func privatePaths(f config.Folders, sources config.Sources) []string {
	own := append([]string{f.Config, f.Data, f.State, f.Logs}, sandbox.MovedPrivatePaths(os.Getenv)...)
	files, _ := sources.Paths() // with an error, the main file
	for _, file := range files {
		for range maxConfigLinks {
			if path, err := filepath.Abs(file); err == nil {
				own = append(own, path)
			}
			to, err := os.Readlink(file)
			if err != nil {
				break
			}
			if !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(file), to)
			}
			file = to
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return own
	}
	return append(own, clientconf.System{GOOS: runtime.GOOS, Home: home, Getenv: os.Getenv}.Files()...)
}

// maxConfigLinks is how many symbolic links that lead from one to the next the kernel follows.
const maxConfigLinks = 40
