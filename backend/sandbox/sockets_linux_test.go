package sandbox

import (
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/backend/process"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func listen(t testing.TB, network, address string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Skip(err) // no IPv6
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func dialFrom(t testing.TB, network, address string) net.Conn {
	t.Helper()
	c, err := net.Dial(network, address)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func TestConnectionsOfTreeAreFound(t *testing.T) {
	tcp := listen(t, "tcp", "127.0.0.1:0")
	tcp6 := listen(t, "tcp", "[::1]:0")
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	defer udp.Close()
	open := dialFrom(t, "tcp", tcp.Addr().String())
	accepted, err := tcp.Accept()
	require.NoError(t, err)
	defer accepted.Close()
	dialFrom(t, "tcp", tcp6.Addr().String())
	dialFrom(t, "udp", udp.LocalAddr().String())
	s := newSockets()
	asked := 0
	trees := func() map[string][]int { asked++; return map[string][]int{"a": {os.Getpid()}} }
	has := func(address string) bool {
		return slices.ContainsFunc(s.sample(trees), func(c connection) bool { return c.server == "a" && c.remote.String() == address })
	}
	for _, address := range []string{tcp.Addr().String(), tcp6.Addr().String(), udp.LocalAddr().String()} {
		assert.Truef(t, has(address), "%s is missing", address)
	}
	assert.False(t, has(open.LocalAddr().String()), "a connection that another opened to it counts as its own")
	if !slices.ContainsFunc(make([]struct{}, 100), func(struct{}) bool { // other programs may open sockets meanwhile
		before := asked
		s.sample(trees)
		return asked == before
	}) {
		t.Error("the processes are read again for the same sockets")
	}
	open.Close()
	if s.sample(trees); has(tcp.Addr().String()) {
		t.Error("a closed connection is still there")
	}
	assert.Empty(t, newSockets().sample(func() map[string][]int { return map[string][]int{"b": {1 << 30}} }), "connections of others")
}

func TestMalformedEntriesAreSkipped(t *testing.T) {
	for _, line := range []string{"", "0: 0100007F:1F90", "0: 0100007F:1F90 xx:D2A4 01 0:0 0:0 0 1000 0 54321", "0: 0100007F:1F90 0100007F:D2A4 zz 0:0 0:0 0 1000 0 1", strings.Repeat("1 ", 20)} {
		e, ok := parseEntry([]byte(line))
		assert.Falsef(t, ok, "%q: %+v", line, e)
	}
	e, ok := parseEntry([]byte("0: 0100007F:1F90 00000000:0000 0A 0:0 0:0 0 1000 0 5 1"))
	assert.Truef(t, ok && !e.remote.IsValid() && e.localPort == 8080 && e.state == tcpListen, "a listening socket: %+v %v", e, ok)
}

// twentyServers starts twenty servers of three processes.
func twentyServers(b *testing.B) func() map[string][]int {
	spawner := process.NewSpawner(process.Options{})
	b.Cleanup(func() { spawner.Close(b.Context()) })
	var list []*process.Process
	sh, err := exec.LookPath("sh")
	if err != nil {
		b.Skip(err)
	}
	for range 20 {
		p, err := spawner.Start(process.Spec{Name: "a", Path: sh, Args: []string{"-c", "sleep 1000 & sleep 1000 & cat"}, Env: os.Environ(), Stderr: io.Discard})
		if err != nil {
			b.Fatal(err)
		}
		list = append(list, p)
	}
	eventually.True(b, "every server has its children", func() bool {
		n := 0
		for _, pids := range process.TreePIDs(list) {
			n += len(pids)
		}
		return n >= 3*len(list)
	})
	return func() map[string][]int {
		trees := map[string][]int{}
		for i, pids := range process.TreePIDs(list) {
			trees[string(rune('a'+i))] = pids
		}
		return trees
	}
}

// BenchmarkSample measures the CPU time of one sample with 20 servers: "known" if all sockets were
// seen before, "new" if one was not.
func BenchmarkSample(b *testing.B) {
	trees := twentyServers(b)
	l := listen(b, "tcp", "127.0.0.1:0")
	for range 50 {
		dialFrom(b, "tcp", l.Addr().String())
	}
	for _, mode := range []string{"known", "new"} {
		b.Run(mode, func(b *testing.B) {
			s := newSockets()
			s.sample(trees)
			var cpu time.Duration
			for b.Loop() {
				if mode == "new" {
					clear(s.owners)
				}
				cpu += measureThreadCPU(func() { s.sample(trees) })
			}
			each := cpu / time.Duration(b.N)
			interval := max(minInterval, each*costFactor)
			b.ReportMetric(float64(each.Microseconds()), "cpu-µs/sample")
			b.ReportMetric(100*each.Seconds()/interval.Seconds(), "%cpu")
			b.ReportMetric(interval.Seconds(), "s/sample")
		})
	}
}
