package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// measureSandbox compares starts of the same server with and without a sandbox, alternately. Each
// start is a trial, from the request until the tools are listed.
func measureSandbox(ctx context.Context, b *bench) ([]finding, error) {
	data, err := dataFolderInHome()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(data)
	confined := selfServer("tools", "1")
	confined["sandbox"] = map[string]any{"network": "none"}
	t, err := start(ctx, "drawbridge", b.program, targetOptions{data: data, servers: map[string]any{"free": selfServer("tools", "1"), "confined": confined}})
	if err != nil {
		return nil, err
	}
	defer t.stop()
	took := map[string][]time.Duration{}
	for range 33*b.rounds - 1 {
		for _, server := range []string{"free", "confined"} {
			answer, err := t.requestAPI(ctx, "POST", "/api/v1/test", `{"server":"`+server+`"}`)
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

// dataFolderInHome returns a new folder in the user's home directory, where a daemon usually has
// its files. If they were among temporary files, each of these would need a rule of the sandbox.
func dataFolderInHome() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(cache, "drawbridge-bench")
}
