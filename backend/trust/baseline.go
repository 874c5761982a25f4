package trust

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// Options configure a Baseline. Store is required.
type Options struct {
	Store Store
	Log   *slog.Logger     // no logging if nil
	Now   func() time.Time // time.Now if nil
}

// Kinds of definitions.
const (
	Tool         = "tool"
	Prompt       = "prompt"
	Resource     = "resource"
	Template     = "template"     // of resources
	Instructions = "instructions" // instructions of the server's initialize result
	Server       = "server"       // how the server is started or reached
)

// Modes for changed definitions, as in the configuration.
const (
	Ask    = "ask"
	Accept = "accept"
	Block  = "block"
)

// Limits.
const (
	maxPreviousHashes = 8         // hashes kept of previously trusted versions of a definition
	maxRecords        = 4000      // records per server of tools that it no longer lists
	maxDefinition     = 256 << 10 // bytes of a definition that are stored for diffs
	maxEvents         = 2000      // unsaved events per server
	storeTimeout      = 5 * time.Second
	shutdownTimeout   = 2 * time.Second    // timeout of the last write at shutdown
	newPeriod         = 7 * 24 * time.Hour // how long a tool counts as new
	maxEventsPerHour  = 20                 // events recorded per definition and hour
	firstScanDelay    = 100 * time.Millisecond
	checkInterval     = 5 * time.Minute // interval of checks whether the database file was replaced
)

// Baseline holds the trusted definitions of all servers. Its methods are safe for concurrent use.
type Baseline struct {
	opts             Options
	rejudge, changed func(server string) // see Observe
	wakeup           chan struct{}
	// saving is held during writes, so that an older state never overwrites a newer one.
	saving chan struct{}

	mu               sync.Mutex
	servers          map[string]*serverRecords
	scanQueue        []scanJob
	recordedWarnings map[string]bool // warnings that are recorded as events
	changedServers   map[string]bool // servers for which changed has to be called
}

type scanJob struct {
	server string
	key    itemKey
	hash   Hash
	raw    []byte
	fresh  bool // the definition is new
}

// New returns a Baseline. Definitions are saved and scanned only while Run runs.
func New(o Options) *Baseline {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Baseline{opts: o, rejudge: func(string) {}, changed: func(string) {}, wakeup: make(chan struct{}, 1), saving: make(chan struct{}, 1), servers: map[string]*serverRecords{}, recordedWarnings: map[string]bool{}, changedServers: map[string]bool{}}
}

// Observe sets what is called when judgements change. It must be called before Apply and Run.
// rejudge is called after a review or a change of the mode of a server. It must arrange that Judge
// is called again for the server. It is called without any lock of the Baseline. changed is called
// by Run after the pending changes or the warnings of a server have changed.
func (b *Baseline) Observe(rejudge, changed func(server string)) {
	b.rejudge, b.changed = rejudge, changed
}

// Apply sets the configured servers. The stored records of other servers are kept.
func (b *Baseline) Apply(rules []ServerSettings) {
	var changedModes []string
	b.mu.Lock()
	named := map[string]bool{}
	for _, r := range rules {
		named[r.Server] = true
		s := b.serverRecords(r.Server)
		if s.configured && s.mode != r.Mode {
			changedModes = append(changedModes, r.Server)
		}
		s.configured, s.retired, s.mode = true, false, r.Mode
		b.recordLaunch(s, r.Launch)
	}
	for id, s := range b.servers {
		if !named[id] {
			s.configured, s.retired = false, s.retired || s.configured
		}
	}
	b.mu.Unlock()
	b.wakeWriter()
	for _, id := range changedModes {
		b.rejudge(id)
	}
}

// recordLaunch records that a server is started or reached in a different way. It withholds
// nothing: a new command requires a separate approval, and the tools are compared in any case.
func (b *Baseline) recordLaunch(s *serverRecords, h Hash) {
	b.load(s)
	k := itemKey{Server, ""}
	it := s.items[k]
	switch {
	case it == nil:
		s.items[k] = &record{firstAt: b.opts.Now(), hash: h, version: 1}
	case it.hash != h:
		b.recordEvent(s, k, it, EventChanged, "its command, container, URL or environment variables have changed", &it.hash, &h)
		it.trust(h, nil)
	}
}

func (b *Baseline) serverRecords(server string) *serverRecords {
	s := b.servers[server]
	if s == nil {
		s = &serverRecords{id: server, mode: Ask, items: map[itemKey]*record{}}
		b.servers[server] = s
	}
	return s
}

// Judge compares what a server lists with the trusted definitions. It returns the items to
// withhold, by kind and name, each with the reason, and whether to withhold the instructions.
// Definitions that are seen for the first time become trusted.
func (b *Baseline) Judge(server string, offered *core.Catalog) (withheld map[core.Kind]map[string]string, mute bool) {
	defer b.wakeWriter()
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.serverRecords(server)
	b.load(s)
	firstOf := map[string]bool{Tool: !s.known, Prompt: true, Resource: true, Template: true}
	for k, it := range s.items {
		it.present = false
		if k.kind != Tool {
			firstOf[k.kind] = false // earlier versions recorded tools only
		}
	}
	withheld = map[core.Kind]map[string]string{}
	for _, list := range []struct {
		kind   core.Kind
		record string
		items  []core.Item
	}{{core.Tools, Tool, offered.Tools}, {core.Prompts, Prompt, offered.Prompts}, {core.Resources, Resource, offered.Resources}, {core.Templates, Template, offered.Templates}} {
		for _, item := range list.items {
			if why := b.judgeDefinition(s, itemKey{list.record, item.Name}, item.Raw, canonicalDefinition(list.record, item.Raw), firstOf[list.record]); why != "" {
				if withheld[list.kind] == nil {
					withheld[list.kind] = map[string]string{}
				}
				withheld[list.kind][item.Name] = why
			}
		}
	}
	if text := []byte(offered.Instructions); len(text) > 0 {
		mute = b.judgeDefinition(s, itemKey{Instructions, ""}, text, text, !s.known) != ""
	}
	if !s.known && len(offered.Tools) > 0 {
		b.appendEvent(s, store.TrustEvent{At: b.opts.Now(), Server: s.id, Kind: Server, Action: EventNew, Detail: "first seen, with " + core.Plural(len(offered.Tools), "tool")})
	}
	s.known = s.known || len(offered.Tools)+len(offered.Prompts)+len(offered.Resources)+len(offered.Templates)+len(offered.Instructions) > 0
	b.recordVersion(s, offered.Info)
	b.trimAbsentRecords(s)
	b.changedServers[server] = true
	return withheld, mute
}

// VersionName is the name of the record of kind Server that holds the name and version that a
// server reports.
const VersionName = "version"

// recordVersion records that a server reports another version than before. It withholds nothing.
// The caller must hold b.mu.
func (b *Baseline) recordVersion(s *serverRecords, info json.RawMessage) {
	var is struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	if json.Unmarshal(info, &is) != nil || is.Version == "" {
		return
	}
	text := []byte(is.Name + " " + is.Version)
	h, k := hashOf(text), itemKey{Server, VersionName}
	switch it := s.items[k]; {
	case it == nil:
		s.items[k] = &record{firstAt: b.opts.Now(), hash: h, definition: truncateDefinition(text), version: 1}
	case it.hash != h:
		b.recordEvent(s, k, it, EventChanged, "now runs "+is.Name+" "+is.Version, &it.hash, &h)
		it.trust(h, text)
	}
}

// judgeDefinition is Judge for one definition. It returns the reason to withhold it, or "". The
// caller must hold b.mu.
func (b *Baseline) judgeDefinition(s *serverRecords, k itemKey, raw, definition []byte, first bool) (why string) {
	h, now := hashOf(definition), b.opts.Now()
	it, fresh := s.items[k], false
	switch {
	case it == nil:
		it, fresh = &record{firstAt: now, addedLater: !first, version: 1}, true
		it.hash, it.definition = h, truncateDefinition(definition)
		s.items[k] = it
		if !first {
			b.recordEvent(s, k, it, EventNew, "", nil, &h)
		}
	case it.hash == h:
		if it.definitionLost {
			it.definition, it.definitionLost = truncateDefinition(definition), false
			it.version++
		}
		if it.pending != nil {
			b.recordEvent(s, k, it, EventReturned, "", &it.pending.hash, &h)
			it.pending = nil
			it.version++
		}
	case slices.Contains(it.previousHashes, h):
		b.recordEvent(s, k, it, EventReturned, "a definition that was accepted before", &it.hash, &h)
		it.trust(h, definition)
	case (it.always || s.mode == Accept) && !it.blocked:
		fresh = true
		detail := "the configuration accepts changes to this server"
		if it.always {
			detail = "changes to this tool are always accepted"
		}
		b.recordEvent(s, k, it, EventAccepted, detail, &it.hash, &h)
		it.trust(h, definition)
	case it.pending == nil || it.pending.hash != h:
		fresh = true
		b.recordEvent(s, k, it, EventChanged, "", &it.hash, &h)
		it.pending = &pendingChange{hash: h, at: now, definition: truncateDefinition(definition)}
		it.version++
	}
	it.present = true
	if it.pending == nil && it.scannedHash != h || it.pending != nil && !it.pending.scanned {
		b.scanQueue = append(b.scanQueue, scanJob{s.id, k, h, raw, fresh})
	}
	switch {
	case it.blocked:
		return "blocked by the user"
	case it.pending == nil:
		return ""
	case s.mode == Block:
		return "it has changed since it was trusted, and changes to this server are blocked"
	}
	return "it has changed since it was trusted, and is waiting for the user to accept it"
}

func (b *Baseline) wakeWriter() {
	select {
	case b.wakeup <- struct{}{}:
	default:
	}
}

// Run saves changes and scans new definitions until ctx is cancelled. It always returns nil.
func (b *Baseline) Run(ctx context.Context) error {
	retry := time.NewTimer(checkInterval)
	defer retry.Stop()
	// Delay the first scan: startup has more urgent work.
	begin := time.NewTimer(firstScanDelay)
	defer begin.Stop()
	select {
	case <-ctx.Done():
	case <-begin.C:
	}
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
			defer cancel()
			if err := b.Flush(last); err != nil {
				b.opts.Log.Warn("Cannot save the trusted tools", "error", err)
			}
			return nil
		case <-b.wakeup:
		case <-retry.C:
		}
		b.scanQueued(ctx)
		retry.Reset(checkInterval)
		if err := b.Flush(ctx); err != nil {
			b.opts.Log.Warn("Cannot save the trusted tools", "error", err)
			retry.Reset(10 * time.Second)
		}
		b.mu.Lock()
		touched := sortedKeys(b.changedServers)
		clear(b.changedServers)
		b.mu.Unlock()
		for _, server := range touched {
			b.changed(server)
		}
	}
}
