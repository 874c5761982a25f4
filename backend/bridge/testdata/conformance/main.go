// Command conformance serves one stdio server through the bridge, for the official
// conformance suite: untouched at /s/everything/mcp and with bare names at /mcp.
//
//	go build -o everything github.com/modelcontextprotocol/go-sdk/conformance/everything-server
//	go run ./backend/bridge/testdata/conformance -listen 127.0.0.1:7599 ./everything
//	node .../conformance/dist/index.js server --url http://127.0.0.1:7599/mcp --requirements 2025-11-25
//
// The server gets one connection in each era, as servers that speak both do.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/gateway"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
)

const id = "everything"

func main() {
	listen := flag.String("listen", "127.0.0.1:7599", "address")
	verbose := flag.Bool("v", false, "log")
	flag.Parse()
	level := slog.LevelWarn
	if *verbose {
		level = slog.LevelDebug
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	reg := registry.New(registry.Options{})
	reg.Arrange(registry.Bare, []registry.Server{{ID: id, Label: id}})
	up := &upstreams{}
	b := bridge.New(bridge.Options{
		Registry: reg, Lister: listed{}, Log: logger, Version: "conformance",
		Gateway: gateway.New(gateway.Options{
			Upstreams: up, Policy: policy.New(policy.Options{Views: reg}), Recorder: nobody{}, Bus: new(core.Bus),
		}),
	})
	reg.OnChange(b.ListChanged)
	for _, era := range []core.Era{core.Legacy, core.Modern} {
		conn, err := upstream.Connect(ctx, upstream.Options{
			Server: id, Era: era, Log: logger, Dial: dial(flag.Args()),
			Capabilities: json.RawMessage(`{"sampling":{},"elicitation":{"form":{},"url":{}},"roots":{"listChanged":true}}`),
			OnListChanged: func(kind core.Kind) {
				if c := up.conns[0].Load(); c != nil {
					reg.Set(id, id, c.Catalog(), kind)
				}
			},
			OnNotification: func(method string, params json.RawMessage) {
				if method == "notifications/resources/updated" {
					b.ResourceUpdated(id, "", params)
				}
			},
		})
		if err != nil {
			log.Fatal(err)
		}
		defer conn.Close(context.Background())
		if era == core.Legacy {
			// A server says nothing until somebody sets a level; the bridge holds back.
			_, _ = conn.Send(ctx, &core.Call{Era: era, Method: "logging/setLevel", Params: []byte(`{"level":"debug"}`)}, nil)
		}
		up.conns[index(era)].Store(conn)
	}
	reg.Set(id, id, up.conns[0].Load().Catalog())

	l, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	srv := &http.Server{Handler: guard(b), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = b.Run(ctx); _ = srv.Close() }()
	log.Printf("serving at http://%s/mcp and /s/%s/mcp", l.Addr(), id)
	_ = srv.Serve(l)
}

// guard stands for the one of the program: requests for other hosts and from other
// origins go no further.
func guard(next http.Handler) http.Handler {
	local := func(host string) bool {
		name, _, err := net.SplitHostPort(host)
		if err != nil {
			name = host
		}
		return name == "127.0.0.1" || name == "localhost" || name == "[::1]"
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if origin := r.Header.Get("Origin"); origin != "" {
			if u, err := url.Parse(origin); err != nil || !local(u.Host) {
				http.Error(w, "forbidden", http.StatusForbidden)
				return
			}
		}
		if !local(r.Host) {
			http.Error(w, "forbidden", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func index(era core.Era) int {
	if era == core.Modern {
		return 1
	}
	return 0
}

// upstreams gives each call the connection of its own era.
type upstreams struct {
	conns [2]atomic.Pointer[upstream.Conn]
}

func (u *upstreams) For(_ context.Context, call *core.Call) (gateway.Upstream, error) {
	return u.conns[index(call.Era)].Load(), nil
}

type listed struct{}

func (listed) WaitListed(context.Context, string) {}

type nobody struct{}

func (nobody) Record(*core.Call, core.Reply) {}

// pipe is a server as a child process.
type pipe struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  io.Reader
	done chan struct{}
}

func dial(argv []string) func(context.Context) (upstream.Pipe, error) {
	return func(context.Context) (upstream.Pipe, error) {
		p := &pipe{cmd: exec.Command(argv[0], argv[1:]...), done: make(chan struct{})}
		p.cmd.Stderr = os.Stderr
		var err error
		if p.in, err = p.cmd.StdinPipe(); err != nil {
			return nil, err
		}
		if p.out, err = p.cmd.StdoutPipe(); err != nil {
			return nil, err
		}
		if err := p.cmd.Start(); err != nil {
			return nil, err
		}
		go func() { _, _ = p.cmd.Process.Wait(); close(p.done) }()
		return p, nil
	}
}

func (p *pipe) Stdin() io.WriteCloser { return p.in }
func (p *pipe) Stdout() io.Reader     { return p.out }
func (p *pipe) Done() <-chan struct{} { return p.done }
func (p *pipe) Stop(context.Context) error {
	_ = p.in.Close()
	_ = p.cmd.Process.Kill()
	<-p.done
	return nil
}
