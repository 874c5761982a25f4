package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// measurement is the result of one side under one workload.
type measurement struct {
	calls    int
	p50, p99 time.Duration
	rate     float64       // calls per second
	cpu      time.Duration // processor time of the bridge process, per call
	rss      int64         // bytes, at the end
	peak     int64         // largest RSS in bytes
	slowest  float64       // calls of the slowest caller, relative to the fastest
	files    int           // descriptors, at the end
	dropped  int           // calls that were not recorded
	missing  int           // calls without a row in the history
}

const modernMeta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// load runs c.clients callers, each with its own connection, for length.
func load(ctx context.Context, t *target, c workload, length time.Duration) (measurement, error) {
	ctx, cancel := context.WithTimeout(ctx, length+30*time.Second)
	defer cancel()
	payload := strings.Repeat("x", c.payload)
	var begun, deadline time.Time
	took := make([][]time.Duration, c.clients)
	errs := make([]error, c.clients)
	var opened, callers sync.WaitGroup
	opened.Add(c.clients)
	begin := make(chan struct{})
	for i := range c.clients {
		callers.Go(func() {
			transport := &http.Transport{MaxIdleConnsPerHost: 1, DisableCompression: true}
			defer transport.CloseIdleConnections()
			own := *t
			if len(c.tools) > 0 {
				own.tool = c.tools[i%len(c.tools)]
			}
			caller := &caller{target: &own, http: &http.Client{Transport: transport}, modern: c.modern, payload: payload, canned: c.canned, id: i * 10_000_000}
			errs[i] = caller.open(ctx)
			opened.Done()
			<-begin
			for time.Now().Before(deadline) && errs[i] == nil {
				start := time.Now()
				errs[i] = caller.call(ctx)
				took[i] = append(took[i], time.Since(start))
			}
		})
	}
	opened.Wait() // sessions are not part of the measurement: peers take long to open them
	begun = time.Now()
	deadline = begun.Add(length)
	close(begin)
	callers.Wait()
	elapsed := time.Since(begun)
	if err := errors.Join(errs...); err != nil {
		return measurement{}, err
	}
	all := slices.Concat(took...)
	slices.Sort(all)
	byCalls := func(a, b []time.Duration) int { return len(a) - len(b) }
	slowest, fastest := slices.MinFunc(took, byCalls), slices.MaxFunc(took, byCalls)
	return measurement{
		slowest: float64(len(slowest)) / float64(len(fastest)),
		calls:   len(all), p50: all[len(all)/2], p99: all[len(all)*99/100],
		rate: float64(len(all)) / elapsed.Seconds(),
	}, nil
}

// caller is one client.
type caller struct {
	*target
	http    *http.Client
	modern  bool
	payload string
	canned  bool
	id      int
	session string
	buffer  bytes.Buffer
}

// open initializes a session, if the side needs one.
func (c *caller) open(ctx context.Context) error {
	if c.isFloor() || c.modern {
		return nil
	}
	resp, err := c.post(ctx, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`, "")
	if err != nil {
		return err
	}
	c.session = resp.Header.Get("Mcp-Session-Id")
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	resp, err = c.post(ctx, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "")
	if err == nil {
		resp.Body.Close()
	}
	return err
}

// call makes one call and checks that the response has its id and payload.
func (c *caller) call(ctx context.Context) error {
	c.id++
	id := strconv.Itoa(c.id)
	meta := ""
	if c.modern {
		meta = modernMeta
	}
	resp, err := c.post(ctx, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"`+c.tool+`","arguments":{"text":"`+c.payload+`"}`+meta+`}}`, c.tool)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	c.buffer.Reset()
	if _, err := c.buffer.ReadFrom(resp.Body); err != nil {
		return err
	}
	body := c.buffer.Bytes()
	if !bytes.Contains(body, []byte(`"id":`+id)) || !c.canned && !bytes.Contains(body, []byte(c.payload)) || !c.isFloor() && bytes.Contains(body, []byte(`"error":`)) {
		return fmt.Errorf("call %s got a reply that is not its own (status %d): %.200s", id, resp.StatusCode, body)
	}
	return nil
}

func (c *caller) post(ctx context.Context, body, tool string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	h := req.Header
	h["Content-Type"] = []string{"application/json"}
	h["Accept"] = []string{"application/json, text/event-stream"}
	if c.token != "" {
		h["Authorization"] = []string{"Bearer " + c.token}
	}
	if c.session != "" {
		h["Mcp-Session-Id"] = []string{c.session}
		h["Mcp-Protocol-Version"] = []string{"2025-11-25"}
	}
	if c.modern {
		h["Mcp-Protocol-Version"] = []string{"2026-07-28"}
		h["Mcp-Method"] = []string{"tools/call"}
		h["Mcp-Name"] = []string{tool}
	}
	return c.http.Do(req)
}
