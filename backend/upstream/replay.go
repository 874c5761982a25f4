package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/drawbridge-mcp/drawbridge/backend/cassette"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// dialReplay reads the recording of a replay server and returns a function that plays it from the
// beginning. shown describes it for the user.
func (d *Dialer) dialReplay(ctx context.Context, c *config.Server, env environment, s *startedProcess) (dial func(context.Context) (Pipe, error), shown string, err error) {
	rec, shown, err := d.recording(ctx, c, env)
	if err != nil {
		return nil, shown, err
	}
	o := cassette.Options{Misses: c.Replay.Misses, Realtime: c.Replay.Realtime}
	if o.Misses == config.MissesPassthrough {
		if d.LiveCall == nil {
			return nil, shown, core.Errorf(core.CodeValidation, "passthrough requires a running instance of Drawbridge")
		}
		o.Live = func(ctx context.Context, method, name string, params json.RawMessage) (core.Reply, error) {
			return d.LiveCall(ctx, c.Replay.Server, method, name, params)
		}
	}
	return func(context.Context) (Pipe, error) {
		return recordPipe(playRecording(cassette.NewPlayer(rec, o)), s.newRecorder(), c.ID, d.Observer), nil
	}, shown, nil
}

func (d *Dialer) recording(ctx context.Context, c *config.Server, env environment) (rec *cassette.Recording, shown string, err error) {
	from := c.Replay
	if from.File == "" {
		shown = "recorded calls to " + from.Server
		if d.Recording == nil {
			return nil, shown, core.Errorf(core.CodeValidation, "only a running instance of Drawbridge can serve the history")
		}
		rec, err = d.Recording(ctx, from)
		return rec, shown, err
	}
	path, err := env.expand("from.file", from.File)
	if err != nil {
		return nil, "", err
	}
	if !filepath.IsAbs(path) {
		return nil, path, &core.Error{Code: core.CodeValidation, Message: "from.file is " + osutil.QuotePath(path) + ", which is not an absolute path", Hint: "Specify the complete path.", Remedy: core.EditConfig("from")}
	}
	f, err := cassette.Open(path)
	if err != nil {
		return nil, path, &core.Error{Code: core.CodeValidation, Message: "cannot open the cassette: " + err.Error(), Cause: err}
	}
	defer f.Close()
	if rec, err = cassette.Read(f); err != nil {
		return nil, path, &core.Error{Code: core.CodeValidation, Message: fmt.Sprintf("cannot read the cassette %s: %v", path, err), Cause: err}
	}
	return rec, path, nil
}

// player is a running Player, as the pipe of a server.
type player struct {
	in     *io.PipeWriter
	out    *io.PipeReader
	cancel context.CancelFunc
	done   chan struct{}
}

func playRecording(p *cassette.Player) *player {
	ctx, cancel := context.WithCancel(context.Background())
	requests, in := io.Pipe()
	out, responses := io.Pipe()
	run := &player{in, out, cancel, make(chan struct{})}
	go func() {
		defer close(run.done)
		err := p.Serve(ctx, requests, responses)
		_ = requests.CloseWithError(err)
		_ = responses.CloseWithError(err) // nil is io.EOF
	}()
	return run
}

func (p *player) Stdin() io.WriteCloser { return p.in }
func (p *player) Stdout() io.Reader     { return p.out }
func (p *player) Done() <-chan struct{} { return p.done }

// Stop ends the player: it finishes no response.
func (p *player) Stop(ctx context.Context) error {
	p.cancel()
	_ = p.in.Close()
	_ = p.out.Close()
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
