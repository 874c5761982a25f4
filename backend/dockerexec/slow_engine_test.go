//go:build linux

package dockerexec

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	inspection = regexp.MustCompile("/containers/[0-9a-f]+/json$")
	execStart  = regexp.MustCompile("/exec/[0-9a-f]+/start$")
)

// slowEngine returns an Engine that is late to report the end of a container: it repeats its first
// answer about the container 20 times. startExec, if not nil, answers the requests that start an
// exec.
func slowEngine(t *testing.T, startExec http.HandlerFunc) Engine {
	t.Helper()
	cli := needEngine(t)
	target := &url.URL{Scheme: "http", Host: "docker"}
	var first atomic.Pointer[[]byte]
	var repeated atomic.Int32
	dial := cli.Dialer()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: transport,
		ModifyResponse: func(r *http.Response) error {
			if !inspection.MatchString(r.Request.URL.Path) {
				return nil
			}
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			if !first.CompareAndSwap(nil, &body) && repeated.Add(1) <= 20 {
				body, r.StatusCode = *first.Load(), http.StatusOK
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			r.ContentLength = int64(len(body))
			r.Header.Del("Content-Length")
			return nil
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if startExec != nil && execStart.MatchString(r.URL.Path) {
			startExec(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return Engine{Host: "tcp://" + server.Listener.Addr().String()}
}

// An Engine on a busy machine reports the end of a process seconds before that of its container.
func TestStoppedContainerEndsExec(t *testing.T) {
	for name, end := range map[string]func(id string) error{
		"killed": func(id string) error {
			_, err := engine.cli.ContainerKill(context.Background(), id, client.ContainerKillOptions{Signal: "KILL"})
			return err
		},
		"removed": func(id string) error {
			_, err := engine.cli.ContainerRemove(context.Background(), id, client.ContainerRemoveOptions{Force: true})
			return err
		},
		"restarted": func(id string) error { // it runs again when the Engine is queried
			_, err := engine.cli.ContainerRestart(context.Background(), id, client.ContainerRestartOptions{Timeout: new(int)})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			id := sleepingContainer(t, shellImage, true)
			at := Engine{}
			if name != "restarted" { // an Engine that has started it again knows that it had ended
				at = slowEngine(t, nil)
			}
			e := run(t, Spec{Selector: Selector{Engine: at, Name: id}, Cmd: []string{"cat"}, exitCauseTimeout: time.Minute})
			require.NoError(t, end(id))
			_, _ = io.ReadAll(e.Stdout())
			// Whoever reads the output stops the process at its end.
			if err := e.Stop(t.Context()); err != nil {
				t.Log(err)
			}
			exit := e.Exit()
			assert.Truef(t, exit.Lost, "the process is blamed: %+v", exit)
		})
	}
}

func TestContainerEndingDuringStartIsNotRunning(t *testing.T) {
	id := sleepingContainer(t, shellImage, true)
	at := slowEngine(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = engine.cli.ContainerKill(context.Background(), id, client.ContainerKillOptions{Signal: "KILL"})
		http.Error(w, `{"message":"OCI runtime exec failed: read init-p: connection reset by peer"}`, http.StatusInternalServerError)
	})
	_, err := Start(t.Context(), Spec{Selector: Selector{Engine: at, Name: id}, Cmd: []string{"cat"}, exitCauseTimeout: time.Minute})
	assert.ErrorIs(t, err, ErrNotRunning)
}
