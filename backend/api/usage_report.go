package api

import (
	"context"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

type usageInput struct {
	From   time.Time `query:"from" doc:"Widened to full hours, or full minutes within the last 48 h; a range of two weeks or more starts at midnight UTC; default: 24 h before 'to'"`
	To     time.Time `query:"to" doc:"Default: now"`
	Server string    `query:"server" maxLength:"256" server:"name" doc:"Server id or name"`
	Tool   string    `query:"tool" maxLength:"1000"`
	Client string    `query:"client" maxLength:"1000"`
}

// UsageReport holds the statistics of a time range.
type UsageReport struct {
	From     time.Time    `json:"from"`
	To       time.Time    `json:"to"`
	Total    UsageStats   `json:"total"`
	Servers  []UsageStats `json:"servers" nullable:"false" doc:"Most called first"`
	Tools    []UsageStats `json:"tools" nullable:"false"`
	Clients  []UsageStats `json:"clients" nullable:"false"`
	Series   []UsageStats `json:"series" nullable:"false" doc:"In chronological order; intervals without calls are omitted"`
	SeriesNs int64        `json:"seriesNs" doc:"Interval of the series"`

	Versions []store.VersionStart `json:"versions" nullable:"false" doc:"Versions that responded to their first call in the range, oldest first: those of the server, or without one, those that replaced another version; at most the newest 50"`
}

// UsageStats holds the statistics of one name. Durations have an error of at most 4.5 %.
type UsageStats struct {
	Server   string     `json:"server,omitempty"`
	Tool     string     `json:"tool,omitempty"`
	Client   string     `json:"client,omitempty"`
	Token    string     `json:"token,omitempty"`
	At       *time.Time `json:"at,omitempty" doc:"Start of the interval; series only"`
	Calls    int64      `json:"calls"`
	Errors   int64      `json:"errors"`
	P50Ns    int64      `json:"p50Ns"`
	P95Ns    int64      `json:"p95Ns"`
	P99Ns    int64      `json:"p99Ns"`
	MeanNs   int64      `json:"meanNs"`
	LastUsed *time.Time `json:"lastUsed,omitempty"`

	ResultBytes   int64 `json:"resultBytes" doc:"Size of the results"`
	ResultTokens  int64 `json:"resultTokens" doc:"The same, as an estimated number of tokens"`
	RepeatedBytes int64 `json:"repeatedBytes" doc:"Part of the results: text that repeats structuredContent"`
	BlankBytes    int64 `json:"blankBytes" doc:"Part of the results: white space between JSON tokens, and in text after other white space"`
}

func (a *API) usage(ctx context.Context, in *usageInput) (*answer[UsageReport], error) {
	u, err := a.HistoryStore.Usage(ctx, store.UsageQuery{From: in.From, To: in.To, Server: in.Server, Tool: in.Tool, Client: in.Client})
	if err != nil {
		return nil, err
	}
	list := func(from []store.Use) []UsageStats {
		out := make([]UsageStats, len(from))
		for i := range from {
			out[i] = newUsageStats(&from[i])
		}
		return out
	}
	return reply(UsageReport{u.From, u.To, newUsageStats(&u.Total), list(u.ByServer), list(u.ByTool), list(u.ByClient), list(u.Series), int64(u.SeriesFor), nonNil(u.Versions)})
}

func newUsageStats(u *store.Use) UsageStats {
	when := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	return UsageStats{
		Server: u.Server, Tool: u.Tool, Client: u.Client, Token: u.Token, At: when(u.At), Calls: u.Calls, Errors: u.Errors,
		P50Ns: int64(u.P50), P95Ns: int64(u.P95), P99Ns: int64(u.P99), MeanNs: int64(u.Mean), LastUsed: when(u.LastUsed),
		ResultBytes: u.ResultBytes, ResultTokens: int64(estimateTokens(int(u.ResultBytes))), RepeatedBytes: u.RepeatedBytes, BlankBytes: u.BlankBytes,
	}
}
