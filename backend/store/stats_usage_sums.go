package store

import (
	"context"
	"slices"
	"time"
)

// usageSums holds the aggregates from which a Usage is built.
type usageSums struct {
	step    int64 // length of an interval of series in seconds
	total   sum
	servers map[string]*sum
	tools   map[namePair]*sum
	clients map[namePair]*sum
	series  map[int64]*sum
}

type namePair struct{ a, b string }

func newUsageSums(step int64) *usageSums {
	return &usageSums{step: step, servers: map[string]*sum{}, tools: map[namePair]*sum{}, clients: map[namePair]*sum{}, series: map[int64]*sum{}}
}

func (u *usageSums) len() int { return len(u.servers) + len(u.tools) + len(u.clients) + len(u.series) }

// read adds the rollups in ranges that match q.
func (u *usageSums) read(ctx context.Context, db queryer, all names, q UsageQuery, ranges []spanRange) error {
	wide := slices.ContainsFunc(ranges, func(p spanRange) bool { return p.span > u.step })
	if wide { // series needs shorter spans than the totals
		err := eachRollup(ctx, db, seriesParts(ranges, u.step), func(r *rollupRow) {
			if all.matches(r.target, r.client, q.Server, q.Tool, q.Client) {
				sumFor(u.series, r.at-r.at%u.step).mergeRow(r)
			}
		})
		if err != nil {
			return err
		}
	}
	return eachRollup(ctx, db, ranges, func(r *rollupRow) {
		if !all.matches(r.target, r.client, q.Server, q.Tool, q.Client) {
			return
		}
		t, c := all.targets[r.target], all.clients[r.client]
		u.total.mergeRow(r)
		sumFor(u.servers, t.server).mergeRow(r)
		sumFor(u.tools, namePair{t.server, t.tool}).mergeRow(r)
		sumFor(u.clients, namePair{c.Name, c.Token}).mergeRow(r)
		if !wide {
			sumFor(u.series, r.at-r.at%u.step).mergeRow(r)
		}
	})
}

// addBins adds other to u.
func (u *usageSums) addAll(other *usageSums) {
	u.total.addSum(&other.total)
	addSums(u.servers, other.servers)
	addSums(u.tools, other.tools)
	addSums(u.clients, other.clients)
	addSums(u.series, other.series)
}

func addSums[K comparable](to, from map[K]*sum) {
	for key, one := range from {
		sumFor(to, key).addSum(one)
	}
}

func (s *sum) addSum(other *sum) {
	for i, n := range other.outcomes {
		s.outcomes[i] += n
	}
	s.took += other.took
	s.last = max(s.last, other.last)
	s.bins.addHistogram(&other.bins)
}

// sumFor returns the value of key and creates it if it does not exist.
func sumFor[K comparable](m map[K]*sum, key K) *sum {
	if m[key] == nil {
		m[key] = &sum{}
	}
	return m[key]
}

// appendTo appends the statistics to the lists of out, in random order.
func (u *usageSums) appendTo(out *Usage) {
	out.Total = u.total.toUse(Use{})
	for name, one := range u.servers {
		out.ByServer = append(out.ByServer, one.toUse(Use{Server: name}))
	}
	for p, one := range u.tools {
		out.ByTool = append(out.ByTool, one.toUse(Use{Server: p.a, Tool: p.b}))
	}
	for p, one := range u.clients {
		out.ByClient = append(out.ByClient, one.toUse(Use{Client: p.a, Token: p.b}))
	}
	for t, one := range u.series {
		out.Series = append(out.Series, one.toUse(Use{At: time.Unix(t, 0).UTC()}))
	}
}
