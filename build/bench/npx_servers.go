package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// npxServer is a published server with a call that needs no account. DIR in its arguments is a folder.
type npxServer struct {
	id, pkg         string
	args            []string
	tool, arguments string
}

var npxServers = []npxServer{
	{"files", "@modelcontextprotocol/server-filesystem", []string{"DIR"}, "list_allowed_directories", `{}`},
	{"every", "@modelcontextprotocol/server-everything", []string{"stdio"}, "echo", `{"message":"x"}`},
	{"memory", "@modelcontextprotocol/server-memory", nil, "read_graph", `{}`},
	{"thinking", "@modelcontextprotocol/server-sequential-thinking", nil, "sequentialthinking", `{"thought":"a","thoughtNumber":1,"totalThoughts":1,"nextThoughtNeeded":false}`},
	{"time", "time-mcp", nil, "current_time", `{"format":"YYYY-MM"}`},
	{"commands", "mcp-server-commands", nil, "run_command", `{"command":"true"}`},
	{"runner", "mcp-server-code-runner", nil, "run-code", `{"code":"1","languageId":"javascript"}`},
	{"context7", "@upstash/context7-mcp", nil, "resolve-library-id", `{}`},
	{"calc", "@coo-quack/calc-mcp", nil, "math", `{"expression":"6*7"}`},
	{"git", "@cyanheads/git-mcp-server", nil, "git_status", `{"path":"DIR"}`},
}

const npxModes = "node,direct,npx"

// npxCost compares ten published servers: started by node alone, by Drawbridge directly and by Drawbridge
// with npx, alternately, from npm's filled cache. It needs the registry of npm.
func npxCost(ctx context.Context, b *bench) ([]finding, error) {
	data, err := dataFolderInHome()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(data)
	programs, err := b.learnNpxServers(ctx, data)
	if err != nil {
		return nil, err
	}
	first := map[string][]time.Duration{} // by mode; of each server, the median of all rounds
	var direct, npx []float64
	single, err := b.firstCalls(ctx, data, programs)
	if err != nil {
		return nil, err
	}
	for _, s := range npxServers {
		for _, mode := range strings.Split(npxModes, ",") {
			first[mode] = append(first[mode], median(single[s.id][mode]))
		}
		node := float64(median(single[s.id]["node"]))
		direct, npx = append(direct, float64(median(single[s.id]["direct"]))/node), append(npx, float64(median(single[s.id]["npx"]))/node)
		fmt.Fprintf(os.Stderr, "  %s: node %s, direct %s, npx %s\n", s.id, micro(float64(median(single[s.id]["node"]))), micro(float64(median(single[s.id]["direct"]))), micro(float64(median(single[s.id]["npx"]))))
	}
	all, pss, err := b.allAtOnce(ctx, data, programs)
	if err != nil {
		return nil, err
	}
	ratio := func(a, b float64) string { return fmt.Sprintf("%.2f", a/b) }
	nodeMem, directMem, npxMem := median(pss["node"]), median(pss["direct"]), median(pss["npx"])
	nodeAll, directAll, npxAll := float64(median(all["node"])), float64(median(all["direct"])), float64(median(all["npx"]))
	return []finding{
		{"first call of a stopped npx server, direct / node alone, median of ten servers", "<= 1.30",
			fmt.Sprintf("%.2f (from %.2f to %.2f; %s against %s)", median(direct), slices.Min(direct), slices.Max(direct), micro(float64(median(first["direct"]))), micro(float64(median(first["node"])))), median(direct) > 1.3},
		{what: "the same with npx / node alone", measured: fmt.Sprintf("%.2f (from %.2f to %.2f; %s)", median(npx), slices.Min(npx), slices.Max(npx), micro(float64(median(first["npx"]))))},
		{"memory of ten npx servers (PSS of all trees), direct / node alone", "<= 1.25", ratio(directMem, nodeMem) + fmt.Sprintf(" (%.0f against %.0f MB)", directMem, nodeMem), directMem > 1.25*nodeMem},
		{what: "the same with npx / node alone", measured: ratio(npxMem, nodeMem) + fmt.Sprintf(" (%.0f MB)", npxMem)},
		{"from the start of the daemon until ten npx servers are connected, direct / npx", "<= 0.40",
			ratio(directAll, npxAll) + fmt.Sprintf(" (%s against %s; ten times node alone, at once: %s)", micro(directAll), micro(npxAll), micro(nodeAll)), directAll > 0.4*npxAll},
	}, nil
}

// nodeProgram is what npx starts.
type nodeProgram struct {
	Node, Script string
	Options      []string
	Set          map[string]string
}

// configuration returns the entries of all servers in a mode. They are in one folder, so that git and
// npm find the same files.
func npxConfiguration(data, mode, start string) map[string]any {
	servers := map[string]any{}
	for _, s := range npxServers {
		args := []string{"-y", s.pkg}
		for _, a := range s.args {
			args = append(args, strings.ReplaceAll(a, "DIR", filepath.Join(data, "work")))
		}
		servers[s.id] = map[string]any{"command": "npx", "args": args, "cwd": filepath.Join(data, "work"), "launch": mode, "start": start,
			"inheritEnv": []string{"NODE_EXTRA_CA_CERTS"}, "startupTimeoutMs": 600_000}
	}
	return servers
}

// learnNpxServers starts all servers by npx until Drawbridge can start them directly, and returns how.
func (b *bench) learnNpxServers(ctx context.Context, data string) (map[string]nodeProgram, error) {
	if out, err := exec.CommandContext(ctx, "git", "init", "-q", filepath.Join(data, "work")).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("git: %w: %s", err, out)
	}
	t, err := start(ctx, "drawbridge", b.program, targetOptions{data: data, servers: npxConfiguration(data, "direct", "auto")})
	if err != nil {
		return nil, err
	}
	defer t.stop()
	err = pollUntil(ctx, 10*time.Minute, "the servers were not learned", func() bool {
		var starts struct{ Items []struct{ Version string } }
		text, err := t.api(ctx, "/api/v1/starts")
		return err == nil && json.Unmarshal(text, &starts) == nil && len(starts.Items) == len(npxServers) &&
			!slices.ContainsFunc(starts.Items, func(s struct{ Version string }) bool { return s.Version == "" })
	})
	if err != nil {
		text, _ := t.api(ctx, "/api/v1/starts")
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	var known struct {
		Servers map[string]struct{ Learned []nodeProgram }
	}
	text, err := os.ReadFile(filepath.Join(data, "launch.json"))
	if err == nil {
		err = json.Unmarshal(text, &known)
	}
	programs := map[string]nodeProgram{}
	for id, k := range known.Servers {
		programs[id] = k.Learned[0]
	}
	return programs, err
}

// firstCalls measures the first call of each stopped server, by id and mode.
func (b *bench) firstCalls(ctx context.Context, data string, programs map[string]nodeProgram) (map[string]map[string][]time.Duration, error) {
	took := map[string]map[string][]time.Duration{}
	t, err := start(ctx, "drawbridge", b.program, targetOptions{data: data, servers: npxConfiguration(data, "direct", "onDemand")})
	if err != nil {
		return nil, err
	}
	defer t.stop()
	for _, s := range npxServers { // the first call ever also finds out which eras a server speaks
		if err := s.call(ctx, t, data); err != nil {
			return nil, err
		}
	}
	for range b.rounds {
		for _, mode := range []string{"direct", "npx"} {
			if err := configure(data, targetOptions{servers: npxConfiguration(data, mode, "onDemand")}); err != nil {
				return nil, err
			}
			if text, err := t.requestAPI(ctx, "POST", "/api/v1/config/reload", "{}"); err != nil {
				return nil, fmt.Errorf("reload: %w: %s", err, text)
			}
			for _, s := range npxServers {
				if took[s.id] == nil {
					took[s.id] = map[string][]time.Duration{}
				}
				if mode == "direct" {
					one, _, stop, err := s.nodeAlone(ctx, data, programs[s.id])
					if err != nil {
						return nil, err
					}
					stop()
					took[s.id]["node"] = append(took[s.id]["node"], one)
				}
				if text, err := t.requestAPI(ctx, "POST", "/api/v1/servers/"+s.id+"/stop", "{}"); err != nil {
					return nil, fmt.Errorf("stop: %w: %s", err, text)
				}
				began := time.Now()
				if err := s.call(ctx, t, data); err != nil {
					return nil, err
				}
				took[s.id][mode] = append(took[s.id][mode], time.Since(began))
				if how, err := howStarted(ctx, t, s.id); err != nil || how != mode {
					return nil, fmt.Errorf("%s was started %q, not %q: %w", s.id, how, mode, err)
				}
				if text, err := t.requestAPI(ctx, "POST", "/api/v1/servers/"+s.id+"/stop", "{}"); err != nil {
					return nil, fmt.Errorf("stop: %w: %s", err, text)
				}
			}
		}
	}
	return took, nil
}

func howStarted(ctx context.Context, t *target, id string) (string, error) {
	var starts struct {
		Items []struct{ Server, How, Why string }
	}
	text, err := t.api(ctx, "/api/v1/starts")
	if err == nil {
		err = json.Unmarshal(text, &starts)
	}
	for _, s := range starts.Items {
		if s.Server == id {
			if s.How == "npx" && s.Why != "its launch is set to npx" {
				return s.How + ": " + s.Why, err
			}
			return s.How, err
		}
	}
	return "", err
}

func (s npxServer) callBody(data string, id int) string {
	meta := `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":%s}}`, id, s.id+"__"+s.tool, strings.ReplaceAll(s.arguments, "DIR", filepath.Join(data, "work")), meta)
}

// call calls the tool through Drawbridge. A tool error is a result.
func (s npxServer) call(ctx context.Context, t *target, data string) error {
	text, err := t.ask(ctx, http.DefaultClient, "tools/call", s.id+"__"+s.tool, s.callBody(data, 1))
	if err == nil && !strings.Contains(string(text), `"content"`) {
		err = fmt.Errorf("%s: %.500s", s.id, text)
	}
	return err
}

// nodeAlone starts the program of a server with node and makes the same call. It returns how long that
// took, and the process.
func (s npxServer) nodeAlone(ctx context.Context, data string, p nodeProgram) (took time.Duration, pid int, stop func(), err error) {
	args := slices.Concat(p.Options, []string{p.Script})
	for _, a := range s.args {
		args = append(args, strings.ReplaceAll(a, "DIR", filepath.Join(data, "work")))
	}
	cmd := exec.CommandContext(ctx, p.Node, args...)
	cmd.Dir, cmd.Env = filepath.Join(data, "work"), os.Environ()
	for name, value := range p.Set {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, 0, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, 0, nil, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, nil, err
	}
	end := func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	defer func() {
		if err != nil {
			end()
		}
	}()
	lines := bufio.NewReaderSize(out, 1<<20)
	request := func(id int, text string) error {
		if _, err := in.Write([]byte(text + "\n")); err != nil {
			return err
		}
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return fmt.Errorf("%s: %w", s.id, err)
			}
			var reply struct {
				ID     json.RawMessage
				Method string
			}
			if json.Unmarshal(line, &reply) == nil && reply.Method == "" && string(reply.ID) == strconv.Itoa(id) {
				return nil
			}
		}
	}
	if err := request(1, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`); err != nil {
		return 0, 0, nil, err
	}
	if _, err := in.Write([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")); err != nil {
		return 0, 0, nil, err
	}
	if err := request(2, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); err != nil {
		return 0, 0, nil, err
	}
	body := strings.Replace(s.callBody(data, 3), s.id+"__", "", 1)
	err = request(3, body)
	return time.Since(began), cmd.Process.Pid, end, err
}

// allAtOnce measures, by mode, the time until all servers are connected, and the memory of all their
// processes in MB, a few seconds later.
func (b *bench) allAtOnce(ctx context.Context, data string, programs map[string]nodeProgram) (took map[string][]time.Duration, pss map[string][]float64, err error) {
	took, pss = map[string][]time.Duration{}, map[string][]float64{}
	for range b.rounds {
		for _, mode := range strings.Split(npxModes, ",") {
			var one time.Duration
			var mem float64
			if mode == "node" {
				one, mem, err = b.nodesAtOnce(ctx, data, programs)
			} else {
				one, mem, err = b.daemonAtOnce(ctx, data, mode)
			}
			if err != nil {
				return nil, nil, err
			}
			fmt.Fprintf(os.Stderr, "  ten at once, %s: %s, %.0f MB\n", mode, one.Round(time.Millisecond), mem)
			took[mode], pss[mode] = append(took[mode], one), append(pss[mode], mem)
		}
	}
	return took, pss, nil
}

// memorySettles is when servers have the memory that they keep.
const memorySettles = 5 * time.Second

func (b *bench) nodesAtOnce(ctx context.Context, data string, programs map[string]nodeProgram) (time.Duration, float64, error) {
	var all sync.WaitGroup
	pids, stops, errs := make([]int, len(npxServers)), make([]func(), len(npxServers)), make([]error, len(npxServers))
	began := time.Now()
	for i, s := range npxServers {
		all.Go(func() { _, pids[i], stops[i], errs[i] = s.nodeAlone(ctx, data, programs[s.id]) })
	}
	all.Wait()
	took := time.Since(began)
	time.Sleep(memorySettles)
	var sum memory
	var failed error
	for i := range pids {
		if failed = errs[i]; failed == nil {
			sum = sum.plus(memoryOf(pids[i]))
		}
	}
	for _, stop := range stops {
		if stop != nil {
			stop()
		}
	}
	return took, mega(sum.pss), failed
}

func (b *bench) daemonAtOnce(ctx context.Context, data, mode string) (time.Duration, float64, error) {
	t, err := launch(ctx, b.program, targetOptions{data: data, servers: npxConfiguration(data, mode, "auto")})
	if err != nil {
		return 0, 0, err
	}
	defer t.stop()
	err = pollUntil(ctx, 5*time.Minute, "not all servers are connected", func() bool {
		var list struct{ Items []struct{ State string } }
		if !t.readAddress() {
			return false
		}
		text, err := t.api(ctx, "/api/v1/servers")
		if err != nil || json.Unmarshal(text, &list) != nil {
			return false
		}
		running := 0
		for _, s := range list.Items {
			if s.State == "running" {
				running++
			}
		}
		return running >= len(npxServers)
	})
	took := time.Since(t.began)
	if err != nil {
		return 0, 0, err
	}
	time.Sleep(memorySettles)
	var sum memory
	for _, pid := range descendantsOf(t.pid) {
		sum = sum.plus(memoryOf(pid))
	}
	for _, s := range npxServers {
		if how, err := howStarted(ctx, t, s.id); err != nil || how != mode {
			return 0, 0, fmt.Errorf("%s was started %q, not %q: %w", s.id, how, mode, err)
		}
	}
	return took, mega(sum.pss), nil
}

// descendantsOf returns the processes below one.
func descendantsOf(pid int) []int {
	children := map[int][]int{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			parent := parentOf(n)
			children[parent] = append(children[parent], n)
		}
	}
	found := map[int]bool{}
	for queue := children[pid]; len(queue) > 0; queue = queue[1:] {
		found[queue[0]] = true
		queue = append(queue, children[queue[0]]...)
	}
	return slices.Sorted(maps.Keys(found))
}
