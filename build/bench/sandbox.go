package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// measureSandbox compares starts of the same server with and without a sandbox, alternately. Each
// start is a trial, from the request until the tools are listed.
func measureSandbox(ctx context.Context, b *bench) ([]finding, error) {
	confined := selfServer("tools", "1")
	confined["sandbox"] = map[string]any{"network": "none"}
	t, err := start(ctx, "drawbridge", b.program, targetOptions{servers: map[string]any{"free": selfServer("tools", "1"), "confined": confined}})
	if err != nil {
		return nil, err
	}
	defer t.stop()
	took := map[string][]time.Duration{}
	for range 33*b.rounds - 1 {
		for _, server := range []string{"free", "confined"} {
			answer, err := t.request(ctx, "POST", "/api/v1/test", `{"server":"`+server+`"}`)
			if err != nil {
				return nil, err
			}
			var result struct {
				OK     bool
				TookNs time.Duration
			}
			if err := json.Unmarshal(answer, &result); err != nil || !result.OK {
				return nil, fmt.Errorf("server %q did not start: %.500s", server, answer)
			}
			took[server] = append(took[server], result.TookNs)
		}
	}
	free, added := median(took["free"]), median(took["confined"])-median(took["free"])
	return []finding{{"start of a server, added by its sandbox", "<= 5 ms",
		fmt.Sprintf("%s (start without: %s)", micro(float64(added)), micro(float64(free))), added > 5*time.Millisecond}}, nil
}
