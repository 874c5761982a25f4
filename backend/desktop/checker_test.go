package desktop

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"aead.dev/minisign"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// site serves a document and its signature without a network.
type site struct {
	mu        sync.Mutex
	document  string
	signature []byte
	gets      atomic.Int64
	fail      atomic.Bool
}

func (s *site) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := httptest.NewRecorder()
	switch {
	case s.fail.Load():
		return nil, fmt.Errorf("no route to host")
	case strings.HasSuffix(r.URL.Path, signatureExt):
		_, _ = w.Write(s.signature)
	default:
		s.gets.Add(1)
		_, _ = w.WriteString(s.document)
	}
	return w.Result(), nil
}

func (s *site) release(key minisign.PrivateKey, document string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.document, s.signature = document, minisign.Sign(key, []byte(document))
}

type memory map[string][]byte

func (m memory) Metadata(_ context.Context, key string) ([]byte, bool, error) {
	v, ok := m[key]
	return v, ok, nil
}

func (m memory) SaveMetadata(_ context.Context, key string, value []byte) error {
	m[key] = value
	return nil
}

type checkerFixture struct {
	*site
	private minisign.PrivateKey
	source  Source
	storage memory
	checker *Checker
}

// withChecker runs do in a bubble; run starts a Checker of a version and returns a function that
// stops it.
func withChecker(t *testing.T, do func(f *checkerFixture, run func(version string) (stop func()))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		public, private, err := minisign.GenerateKey(nil)
		require.NoError(t, err)
		f := &checkerFixture{site: new(site), private: private, storage: memory{}, source: Source{URL: "https://example.com/latest.json", PublicKey: public.String()}}
		was := client.Transport
		client.Transport = f.site
		defer func() { client.Transport = was }()
		do(f, func(version string) func() {
			f.checker = New(Options{Version: version, Storage: f.storage, Bus: new(core.Bus), Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- f.checker.Run(ctx) }()
			return func() {
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
		})
	})
}

func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestNoticeOfNewerVersionOnceADay(t *testing.T) {
	withChecker(t, func(f *checkerFixture, run func(string) func()) {
		f.release(f.private, `{"version":"1.3.0","notes":"https://example.com/1.3"}`)
		stop := run("v1.2.0")
		wait(48 * time.Hour)
		require.EqualValues(t, 0, f.gets.Load(), "the address was read although nobody switched that on")
		f.checker.Apply(f.source)
		wait(startDelay + time.Second)
		want := "Drawbridge 1.3.0 is available; this is 1.2.0. Install it the same way you installed the current version. Release notes: https://example.com/1.3"
		if n := f.checker.Notice(); n.Message != want || f.gets.Load() != 1 {
			t.Fatalf("%d readings: %q", f.gets.Load(), n.Message)
		}
		stop()
		stop = run("v1.2.0") // a restart knows the result and does not read again
		f.checker.Apply(f.source)
		wait(time.Hour)
		if n := f.checker.Notice(); n.Message != want || f.gets.Load() != 1 {
			t.Fatalf("after a restart: %d readings: %q", f.gets.Load(), n.Message)
		}
		wait(23 * time.Hour)
		require.EqualValues(t, 2, f.gets.Load())
		stop()
		stop = run("v1.3.0") // installed
		f.checker.Apply(f.source)
		wait(time.Second)
		require.Empty(t, f.checker.Notice().Message, "the newest version")
		f.checker.Apply(Source{})
		wait(72 * time.Hour)
		require.EqualValues(t, 2, f.gets.Load(), "the address is read after it was switched off")
		stop()
	})
}

func TestUnreachableAddressIsReadOnceADay(t *testing.T) {
	withChecker(t, func(f *checkerFixture, run func(string) func()) {
		f.release(f.private, `{"version":"2.0.0"}`)
		f.fail.Store(true)
		stop := run("1.0.0")
		defer stop()
		f.checker.Apply(f.source)
		wait(12 * time.Hour)
		f.fail.Store(false)
		wait(11 * time.Hour)
		require.EqualValues(t, 0, f.gets.Load(), "read again within a day")
		require.Empty(t, f.checker.Notice().Message, "read again within a day")
		wait(2 * time.Hour)
		require.EqualValues(t, 1, f.gets.Load(), "not read after a day")
		require.NotEmpty(t, f.checker.Notice().Message, "not read after a day")
	})
}

func TestUnsignedOrInvalidReleaseIsIgnored(t *testing.T) {
	_, other, err := minisign.GenerateKey(nil)
	require.NoError(t, err)
	for name, change := range map[string]func(*checkerFixture){
		"signed by somebody else": func(f *checkerFixture) { f.release(other, `{"version":"9.0.0"}`) },
		"changed after signing":   func(f *checkerFixture) { f.document = `{"version":"9.0.0"} ` },
		"no signature":            func(f *checkerFixture) { f.signature = nil },
		"not JSON":                func(f *checkerFixture) { f.release(f.private, `9.0.0`) },
		"not a version":           func(f *checkerFixture) { f.release(f.private, `{"version":"newest"}`) },
		"too large": func(f *checkerFixture) {
			f.release(f.private, `{"version":"9.0.0","x":"`+strings.Repeat("x", maxDocument)+`"}`)
		},
		"not https": func(f *checkerFixture) { f.source.URL = "http://example.com/latest.json" },
		"not a key": func(f *checkerFixture) { f.source.PublicKey = "RWx" },
		"older":     func(f *checkerFixture) { f.release(f.private, `{"version":"0.9.0"}`) },
		"the same":  func(f *checkerFixture) { f.release(f.private, `{"version":"1.0.0"}`) },
	} {
		t.Run(name, func(t *testing.T) {
			withChecker(t, func(f *checkerFixture, run func(string) func()) {
				f.release(f.private, `{"version":"9.0.0"}`)
				change(f)
				stop := run("1.0.0")
				defer stop()
				f.checker.Apply(f.source)
				wait(time.Hour)
				assert.Empty(t, f.checker.Notice().Message)
			})
		})
	}
}

// The document is read over HTTP, here from a server on this machine.
func TestReleaseIsReadFromServer(t *testing.T) {
	public, private, err := minisign.GenerateKey(nil)
	require.NoError(t, err)
	document := []byte(`{"version":"1.3.0"}`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/latest.json":
			_, _ = w.Write(document)
		case "/latest.json" + signatureExt:
			_, _ = w.Write(minisign.Sign(private, document))
		case "/moved":
			http.Redirect(w, r, "http://example.com/latest.json", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	defer client.CloseIdleConnections()
	r, err := read(t.Context(), server.URL+"/latest.json", public.String())
	assert.Truef(t, err == nil && r.Version == "1.3.0", "got %+v, %v", r, err)
	for path, want := range map[string]string{"/moved": "must use https", "/missing": "404 Not Found"} {
		if _, err := read(t.Context(), server.URL+path, public.String()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestLocalBuildIsNeverOutdated(t *testing.T) {
	newest := Release{Version: "9.0.0"}
	for version, newer := range map[string]bool{"dev": false, "ff9c379d-dirty": false, "": false, "v1.0.0-3-gabcdef": false, "v1.0.0-rc.1": true, "v9.0.0": false, "9.1.0": false} {
		assert.Equal(t, newer, newest.newerThan(version))
	}
}

func TestNotesAreAWebAddress(t *testing.T) {
	withChecker(t, func(f *checkerFixture, run func(string) func()) {
		document, _ := json.Marshal(map[string]string{"version": "2.0.0", "notes": "javascript:alert(1)"})
		f.release(f.private, string(document))
		stop := run("1.0.0")
		defer stop()
		f.checker.Apply(f.source)
		wait(time.Hour)
		n := f.checker.Notice()
		assert.Truef(t, n.Message != "" && !strings.Contains(n.Message, "javascript"), "shown: %q", n.Message)
	})
}
