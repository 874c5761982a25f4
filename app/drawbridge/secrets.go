package main

import (
	"context"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// SecretHolder is whoever holds secrets that must never be recorded.
type SecretHolder interface{ Known() []string }

// secretFeed tells the recorder which values it must never keep: those of the configuration,
// with their variables expanded, and those that others hold.
type secretFeed struct {
	recorder *store.Recorder
	log      *slog.Logger
	others   []SecretHolder
	changed  chan *config.Config // the newest that run has not taken yet
	// read, if it is set, is told of each answer of the login shell: nil, or why there is none.
	read func(error)

	mu     sync.Mutex // guards the fields below, and the order in which the recorder hears
	now    *config.Config
	lookup func(string) (string, bool)
	missed int // secrets that the recorder has no room for, as was logged
}

func newSecretFeed(recorder *store.Recorder, log *slog.Logger, others ...SecretHolder) *secretFeed {
	return &secretFeed{recorder: recorder, log: log, others: others, changed: make(chan *config.Config, 1)}
}

// apply takes a new configuration. What our own environment tells counts at once; what
// the login shell tells, a moment later: reading it may take seconds.
func (k *secretFeed) apply(c *config.Config) {
	process.SetLoginLimit(c.Global.LoginShellTimeout)
	k.set(c, os.LookupEnv)
	select {
	case <-k.changed:
	default:
	}
	k.changed <- c // there is room: reload applies one configuration at a time
}

func (k *secretFeed) run(ctx context.Context) error {
	for {
		var c *config.Config
		select {
		case <-ctx.Done():
			return nil
		case c = <-k.changed:
		case <-process.LoginEnvChanges():
			if c = k.current(); c == nil {
				continue
			}
		}
		login, err := process.LoginEnv(ctx)
		if k.read != nil && ctx.Err() == nil {
			k.read(err)
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

func (k *secretFeed) current() *config.Config {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now
}

func (k *secretFeed) set(c *config.Config, lookup func(string) (string, bool)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now, k.lookup = c, lookup
	k.tell(c, lookup)
}

// again tells the recorder what others hold by now.
func (k *secretFeed) again() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now != nil {
		k.tell(k.now, k.lookup)
	}
}

// tell must be called with k.mu held.
func (k *secretFeed) tell(c *config.Config, lookup func(string) (string, bool)) {
	values := secretsOf(c, lookup)
	for _, o := range k.others {
		values = append(values, o.Known()...)
	}
	var patterns []*regexp.Regexp
	for _, text := range c.History.Redact {
		if p, err := regexp.Compile(text); err == nil { // the configuration was checked
			patterns = append(patterns, p)
		}
	}
	if missed := k.recorder.SetSecrets(values, patterns); missed != k.missed {
		k.missed = missed
		if missed > 0 {
			k.log.Warn("There are too many secrets: some are not taken out of the history. Record the servers that use them with \"record\": \"meta\"", "secrets", missed)
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

// secretsOf are the values in a configuration that look like secrets by their names, or
// come from variables whose names do.
func secretsOf(c *config.Config, lookup func(string) (string, bool)) []string {
	f := secretFinder{lookup: lookup}
	for i := range c.Servers {
		s := &c.Servers[i]
		for name, value := range s.Env {
			f.named(name, value)
		}
		for _, name := range s.InheritEnv {
			f.named(name, "${"+name+":-}")
		}
		for name, value := range s.Headers {
			f.named(name, value)
		}
		before := ""
		for _, arg := range s.Args {
			f.named(strings.TrimLeft(before, "-"), arg)
			before = arg
			if name, value, ok := strings.Cut(arg, "="); ok {
				f.named(strings.TrimLeft(name, "-"), value)
				before = "" // NAME=VALUE says nothing of the argument after it
			}
		}
		f.named("", s.URL)
	}
	for name, value := range c.Metrics.OTLP.Headers {
		f.named(name, value)
	}
	return f.found
}

type secretFinder struct {
	lookup func(string) (string, bool)
	found  []string
}

// named looks at the value that stands under a name.
func (f *secretFinder) named(name, value string) {
	if value == "" {
		return
	}
	expanded, err := config.Expand(value, func(variable string) (string, bool) {
		v, ok := f.lookup(variable)
		if ok && (store.NamesSecret(variable) || strings.HasPrefix(variable, "secret:")) {
			f.found = append(f.found, v)
		}
		return v, ok
	})
	if err != nil {
		return // the server does not start either
	}
	f.found = append(f.found, store.SecretsIn(expanded)...)
	if store.NamesSecret(name) {
		f.found = append(f.found, expanded)
		if scheme, rest, ok := strings.Cut(expanded, " "); ok && !strings.ContainsAny(scheme, ":=") {
			f.found = append(f.found, rest) // "Bearer " and what follows it
		}
	}
}
