package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// peer is a program on npm that offers a stdio server over Streamable HTTP. In its arguments, PORT
// and SERVER are replaced, and FOLDER by a folder with a file mcp.json that lists the server.
type peer struct {
	name, module, version string
	command               string // in node_modules/.bin
	args                  []string
}

var peers = []peer{
	{"mcp-proxy", "mcp-proxy", "6.7.19", "mcp-proxy", []string{"--host", "127.0.0.1", "--port", "PORT", "--server", "stream", "--", "SERVER", "upstream"}},
	{"supergateway --stateful", "supergateway", "4.0.0", "supergateway", append(supergateway, "--stateful")},
	{"supergateway", "supergateway", "4.0.0", "supergateway", supergateway},
	{"1mcp", "@1mcp/agent", "0.35.0", "1mcp", []string{"serve", "--config-dir", "FOLDER", "--host", "127.0.0.1", "--port", "PORT", "--log-level", "error"}},
}

var supergateway = []string{"--stdio", "'SERVER' upstream", "--outputTransport", "streamableHttp", "--port", "PORT", "--logLevel", "none"}

// peerResult is a row of the table: Drawbridge or a peer.
type peerResult struct {
	name, version string
	measure       func(context.Context, workload) (measurement, error)
	compared      []workloadComparison
	err           error
}

// comparePeers measures the floor, Drawbridge and the peers in turn. A peer that cannot be installed
// or does not respond is reported in its row, and the others continue.
func (b *bench) comparePeers(ctx context.Context, out string) error {
	cache, cacheErr := os.UserCacheDir()
	version, versionErr := exec.CommandContext(ctx, b.program, "version").Output()
	if err := errors.Join(cacheErr, versionErr); err != nil {
		return err
	}
	_, name, _ := strings.Cut(strings.TrimSpace(string(version)), " ")
	results := []*peerResult{{name: "**Drawbridge**", version: name, measure: b.measureRecorded}}
	for _, p := range peers {
		if !b.wants(p.name) {
			continue
		}
		program, err := p.install(ctx, filepath.Join(cache, "drawbridge-bench-peers"))
		results = append(results, &peerResult{name: p.name, version: p.version, err: err,
			measure: func(ctx context.Context, w workload) (measurement, error) { return b.measurePeer(ctx, p, program, w) }})
	}
	for _, clients := range []int{1, 64} {
		w := workload{name: fmt.Sprintf("60 B × %d", clients), payload: 60, clients: clients}
		if err := b.compareWorkload(ctx, w, results); err != nil {
			return err
		}
	}
	text := b.conditions("floor, Drawbridge and the peers in turn") + peerTable(results)
	fmt.Print(text)
	if out == "" {
		return nil
	}
	return writeReport(out, peersBegin, peersEnd, text)
}

// compareWorkload runs a workload on all sides in each round.
func (b *bench) compareWorkload(ctx context.Context, w workload, results []*peerResult) error {
	for _, r := range results {
		r.compared = append(r.compared, workloadComparison{workload: w})
	}
	for round := range b.rounds {
		floor, err := b.measureSide(ctx, "floor", w, targetOptions{})
		if err != nil {
			return err
		}
		for _, r := range results {
			if r.err != nil {
				continue
			}
			m, err := r.measure(ctx, w)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				r.err = err
				fmt.Fprintf(os.Stderr, "%s, %s: %v\n", w.name, r.name, err)
				continue
			}
			c := &r.compared[len(r.compared)-1]
			c.floor, c.ours = append(c.floor, floor), append(c.ours, m)
			fmt.Fprintf(os.Stderr, "%s, round %d, %s: p50 %s, p99 %s, %.0f calls/s\n", w.name, round+1, r.name, micro(p50Of(m)), micro(p99Of(m)), m.rate)
		}
	}
	return nil
}

// measureRecorded measures Drawbridge. Each call must be in the history afterwards.
func (b *bench) measureRecorded(ctx context.Context, w workload) (measurement, error) {
	m, err := b.measureSide(ctx, "drawbridge", w, targetOptions{})
	if err == nil && (m.missing != 0 || m.dropped != 0) {
		err = fmt.Errorf("%d calls are missing in the history, %d were dropped", m.missing, m.dropped)
	}
	return m, err
}

// measurePeer starts a peer, warms it up, loads it and stops it.
func (b *bench) measurePeer(ctx context.Context, p peer, program string, w workload) (measurement, error) {
	t, err := p.start(ctx, program)
	if err != nil {
		return measurement{}, err
	}
	defer t.stop()
	if _, err := load(ctx, t, w, b.length); err != nil { // Node.js compiles what runs often
		return measurement{}, err
	}
	return load(ctx, t, w, b.length)
}

// install installs a peer into a folder of its own, unless it is there, and returns the path of its
// program.
func (p peer) install(ctx context.Context, cache string) (string, error) {
	folder := filepath.Join(cache, strings.ReplaceAll(p.module, "/", "+")+"@"+p.version)
	program := filepath.Join(folder, "node_modules", ".bin", p.command)
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	fmt.Fprintf(os.Stderr, "installing %s@%s into %s\n", p.module, p.version, folder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "npm", "install", "--prefix", folder, "--save-exact", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error", p.module+"@"+p.version).CombinedOutput()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s\n", out)
		reason, _, _ := strings.Cut(string(out), "\n")
		return "", fmt.Errorf("cannot install it: %w: %s", err, reason)
	}
	return program, nil
}

// start starts a peer in front of the echo server and waits until it lists the tool.
func (p peer) start(ctx context.Context, program string) (*target, error) {
	folder, err := os.MkdirTemp("", "drawbridge-bench-peer")
	if err != nil {
		return nil, err
	}
	servers, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"up": echoServer()}})
	address, err := freePort()
	if err = errors.Join(err, os.WriteFile(filepath.Join(folder, "mcp.json"), servers, 0o600)); err != nil {
		return nil, err
	}
	self, _ := os.Executable()
	_, port, _ := strings.Cut(address, ":")
	values := strings.NewReplacer("PORT", port, "SERVER", self, "FOLDER", folder)
	var args []string
	for _, arg := range p.args {
		args = append(args, values.Replace(arg))
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Getenv("BENCH_VERBOSE") != "" {
		cmd.Stderr = os.Stderr
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t := &target{url: "http://" + address + "/mcp", peer: true, pid: cmd.Process.Pid}
	t.stop = func() {
		all := descendants(t.pid) // some of them may have left the process group
		_ = syscall.Kill(-t.pid, syscall.SIGKILL)
		for _, pid := range all[1:] {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		<-ended
		_ = os.RemoveAll(folder)
	}
	err = pollUntil(ctx, 60*time.Second, "it does not list the tool", func() bool {
		select {
		case <-ended:
			return true
		default:
			t.tool = t.listedEchoTool(ctx)
			return t.tool != ""
		}
	})
	if err == nil && t.tool == "" {
		err = fmt.Errorf("it ended: %s", cmd.ProcessState)
	}
	if err != nil {
		t.stop()
		return nil, err
	}
	return t, nil
}

// listedEchoTool returns the public name of the tool echo, or "" if it is not listed (yet).
func (t *target) listedEchoTool(ctx context.Context) string {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	c := &caller{target: t, http: &http.Client{Transport: transport, Timeout: 5 * time.Second}}
	if c.open(ctx) != nil {
		return ""
	}
	resp, err := c.post(ctx, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "")
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return echoToolIn(body)
}

// echoToolIn returns the name of the first tool in a response, JSON or an event stream, whose name
// ends with "echo". Peers put a prefix before the name.
func echoToolIn(response []byte) string {
	lines := bytes.Split(response, []byte("\n"))
	for _, line := range slices.Concat(lines, [][]byte{response}) {
		var m struct {
			Result struct{ Tools []struct{ Name string } }
		}
		if json.Unmarshal(bytes.TrimPrefix(line, []byte("data:")), &m) != nil {
			continue
		}
		for _, tool := range m.Result.Tools {
			if strings.HasSuffix(tool.Name, "echo") {
				return tool.Name
			}
		}
	}
	return ""
}
