package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// The next sample follows after a thousand times the CPU time of the last one, within these
// limits: sampling takes at most 0.1 % of one core.
const (
	minInterval = 3 * time.Second
	maxInterval = time.Hour
	costFactor  = 1000
)

// Limits on what is held in memory and reported.
const (
	saveInterval     = time.Minute // of the time at which a known destination was last seen
	maxNewPerSample  = 50
	maxPerServer     = 300
	learningPeriod   = 24 * time.Hour // after the first destination of a server: no notices
	maxNoticeTargets = 5
)

// NoticeSubjectPrefix is the prefix of the subject of notices about new destinations. The server id
// follows.
const NoticeSubjectPrefix = "egress:"

// Store stores destinations; *store.Store implements it.
type Store interface {
	Destinations(ctx context.Context, server string) ([]store.Destination, error)
	SaveDestinations(ctx context.Context, destinations []store.Destination) error
}

// Options are the dependencies of a DestinationSampler.
type Options struct {
	Store Store
	Bus   *core.Bus
	Log   *slog.Logger
	Now   func() time.Time // time.Now if nil
	// Idle reports whether no server has processes, and Trees returns the processes of each server.
	Idle  func() bool
	Trees func() map[string][]int
	// Hosts returns the host names that the configuration of a server mentions. They are looked up
	// when the server connects to a new address.
	Hosts func(server string) []string
	// UnobservableReason returns why the connections of a server cannot be observed, or "". It may
	// be nil.
	UnobservableReason func(server string) string
	// Label returns the display name of a server.
	Label func(server string) string
	// Journal writes to the log of a server.
	Journal func(server string, level slog.Level, text string)
	// lookup replaces the resolver in tests.
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)
}

// DestinationSampler samples the connections of servers. Run must be running.
type DestinationSampler struct {
	opts    Options
	sockets *sockets // nil where it is not available
	names   addressNames

	mu      sync.Mutex // guards the rest
	known   map[destinationKey]*destination
	oldest  map[string]time.Time // first destination, by server
	notices []core.Notice
}

type destinationKey struct {
	server, protocol, host string
	port                   int
}

type destination struct {
	store.Destination
	saved time.Time // LastAt as stored
}

// New returns a DestinationSampler.
func New(o Options) *DestinationSampler {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.lookup == nil {
		o.lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	return &DestinationSampler{opts: o, sockets: newSockets(), names: addressNames{lookup: o.lookup}, known: map[destinationKey]*destination{}, oldest: map[string]time.Time{}}
}

// Available reports whether the connections of a server can be observed, and if not, why.
func (s *DestinationSampler) Available(server string) (ok bool, why string) {
	switch {
	case s.sockets == nil:
		return false, "Connections are observed on Linux only."
	case s.opts.UnobservableReason != nil:
		if why = s.opts.UnobservableReason(server); why != "" {
			return false, why
		}
	}
	return true, ""
}

// Run samples until ctx is done. It always returns nil.
func (s *DestinationSampler) Run(ctx context.Context) error {
	if s.sockets == nil {
		<-ctx.Done()
		return nil
	}
	if err := s.load(ctx); err != nil {
		s.opts.Log.Warn("Cannot read the known destinations of servers", "error", err)
	}
	sampleUntilDone(ctx, func() (cost time.Duration) {
		if !s.opts.Idle() {
			cost = measureThreadCPU(func() { s.record(ctx, s.sockets.sample(s.opts.Trees)) })
		}
		return cost
	})
	return nil
}

// sampleUntilDone calls sample until ctx is done. The next sample follows after costFactor times the
// CPU time of the last one, within minInterval and maxInterval.
func sampleUntilDone(ctx context.Context, sample func() (cost time.Duration)) {
	timer := time.NewTimer(minInterval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		timer.Reset(min(max(minInterval, sample()*costFactor), maxInterval))
	}
}

func (s *DestinationSampler) load(ctx context.Context) error {
	list, err := s.opts.Store.Destinations(ctx, "")
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range list {
		s.remember(&destination{d, d.LastAt})
	}
	return err
}

// remember adds a destination. The caller must hold s.mu.
func (s *DestinationSampler) remember(d *destination) {
	s.known[destinationKey{d.Server, d.Protocol, d.Host, d.Port}] = d
	if first, ok := s.oldest[d.Server]; !ok || d.FirstAt.Before(first) {
		s.oldest[d.Server] = d.FirstAt
	}
}

// record stores the connections of one sample and reports new destinations.
func (s *DestinationSampler) record(ctx context.Context, found []connection) {
	now := s.opts.Now().UTC()
	var save []store.Destination
	fresh := map[string][]string{}
	for _, c := range found {
		host := s.names.lookUp(ctx, c.server, c.remote.Addr(), s.opts.Hosts)
		key := destinationKey{c.server, c.protocol, host, int(c.remote.Port())}
		s.mu.Lock()
		d := s.known[key]
		switch {
		case d == nil && len(save) >= maxNewPerSample:
		case d == nil:
			d = &destination{store.Destination{Server: c.server, Protocol: c.protocol, Host: host, Port: key.port, Address: c.remote.Addr().String(), FirstAt: now, LastAt: now}, now}
			learning := now.Sub(cmp.Or(s.oldest[c.server], now)) < learningPeriod
			s.remember(d)
			s.trim(c.server)
			save = append(save, d.Destination)
			if text := d.text(); !learning {
				fresh[c.server] = append(fresh[c.server], text)
			}
			s.opts.Journal(c.server, slog.LevelInfo, "connected to "+d.text()+" for the first time")
		default:
			d.LastAt, d.Address = now, c.remote.Addr().String()
			if now.Sub(d.saved) >= saveInterval {
				d.saved = now
				save = append(save, d.Destination)
			}
		}
		s.mu.Unlock()
	}
	if len(save) > 0 {
		if err := s.opts.Store.SaveDestinations(ctx, save); err != nil {
			s.opts.Log.Warn("Cannot save the destinations of servers", "error", err)
		}
	}
	for server, list := range fresh {
		s.notify(server, list)
	}
}

// trim forgets the destination of a server that was seen least recently, beyond the limit. The
// caller must hold s.mu.
func (s *DestinationSampler) trim(server string) {
	var oldest *destination
	n := 0
	for key, d := range s.known {
		if key.server == server {
			if n++; oldest == nil || d.LastAt.Before(oldest.LastAt) {
				oldest = d
			}
		}
	}
	if n > maxPerServer {
		delete(s.known, destinationKey{oldest.Server, oldest.Protocol, oldest.Host, oldest.Port})
	}
}

func (d *destination) text() string {
	text := net.JoinHostPort(d.Host, fmt.Sprint(d.Port))
	if d.Protocol != "tcp" {
		text += "/" + d.Protocol
	}
	return text
}

// notify publishes a notice about new destinations of a server, which replaces the previous one.
func (s *DestinationSampler) notify(server string, list []string) {
	text := strings.Join(list[:min(len(list), maxNoticeTargets)], ", ")
	if more := len(list) - maxNoticeTargets; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	n := core.Notice{Subject: NoticeSubjectPrefix + server, Message: fmt.Sprintf("Server %q has connected to new destinations: %s", s.opts.Label(server), text)}
	if len(list) == 1 {
		n.Message = fmt.Sprintf("Server %q has connected to a new destination: %s", s.opts.Label(server), text)
	}
	s.mu.Lock()
	s.notices = append(slices.DeleteFunc(s.notices, func(o core.Notice) bool { return o.Subject == n.Subject }), n)
	s.mu.Unlock()
	s.opts.Bus.Publish(core.NoticeEvent, n)
}

// Notices returns the notices about new destinations that the user has not dismissed.
func (s *DestinationSampler) Notices() []core.Notice {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notices)
}

// Dismiss removes a notice. It reports whether there was one.
func (s *DestinationSampler) Dismiss(subject string) bool {
	s.mu.Lock()
	i := slices.IndexFunc(s.notices, func(n core.Notice) bool { return n.Subject == subject })
	if i >= 0 {
		s.notices = slices.Delete(s.notices, i, i+1)
	}
	s.mu.Unlock()
	if i >= 0 {
		s.opts.Bus.Publish(core.NoticeEvent, core.Notice{Subject: subject})
	}
	return i >= 0
}

// Destinations returns the destinations of a server, or of all servers if server is "".
func (s *DestinationSampler) Destinations(ctx context.Context, server string) ([]store.Destination, error) {
	list, err := s.opts.Store.Destinations(ctx, server)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range list { // memory has newer times
		if d := s.known[destinationKey{list[i].Server, list[i].Protocol, list[i].Host, list[i].Port}]; d != nil {
			list[i].LastAt, list[i].Address = d.LastAt, d.Address
		}
	}
	return list, err
}

// Renamed moves what is known of a server to its new name.
func (s *DestinationSampler) Renamed(from, to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, d := range s.known {
		if key.server == from {
			delete(s.known, key)
			d.Server = to
			s.remember(d)
		}
	}
	delete(s.oldest, from)
}

// Limits of the look-ups for one server.
const (
	lookupTimeout  = 2 * time.Second
	lookupInterval = time.Minute
	maxLookups     = 20
	maxNames       = 2000
)

// addressNames finds the names of addresses by looking up the host names that the configuration
// mentions. Reverse look-ups would tell the resolver about each address, and rarely return what was
// asked for.
type addressNames struct {
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	byAddr map[netip.Addr]string
	next   map[string]time.Time // earliest next look-up, by server
}

// lookUp returns the name of addr, or the address as text.
func (n *addressNames) lookUp(ctx context.Context, server string, addr netip.Addr, hosts func(string) []string) string {
	if addr.IsLoopback() {
		return "localhost"
	}
	if name, ok := n.byAddr[addr]; ok {
		return name
	}
	if n.byAddr == nil || len(n.byAddr) > maxNames {
		n.byAddr, n.next = map[netip.Addr]string{}, map[string]time.Time{}
	}
	if now := time.Now(); now.After(n.next[server]) {
		n.next[server] = now.Add(lookupInterval)
		ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
		defer cancel()
		list := hosts(server)
		for _, host := range list[:min(len(list), maxLookups)] {
			found, err := n.lookup(ctx, host)
			if err != nil {
				continue // the address is shown instead
			}
			for _, a := range found {
				n.byAddr[a.Unmap()] = host
			}
		}
	}
	if name, ok := n.byAddr[addr]; ok {
		return name
	}
	return addr.String()
}
