package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

var errForgotten = errors.New("the server has forgotten our session")

// forgotten reports whether a legacy server no longer knows the session that the
// request was made in.
func forgotten(resp *http.Response) bool {
	return resp.StatusCode == http.StatusNotFound && lostSession(resp) != ""
}

func lostSession(resp *http.Response) string { return resp.Request.Header.Get("Mcp-Session-Id") }

// renewLimit bounds the opening of a new session in place of a lost one: the stream of
// announcements that may ask for it has no deadline, and all calls wait behind it.
const renewLimit = 30 * time.Second

// renew opens a new session in place of lost, unless somebody has done so meanwhile.
func (r *Remote) renew(ctx context.Context, lost string) error {
	select {
	case r.renews <- struct{}{}:
		defer func() { <-r.renews }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	r.mu.Lock()
	hello, version, now := r.hello, r.version, r.session
	r.mu.Unlock()
	if now != lost {
		return nil
	}
	if hello == nil {
		return errForgotten
	}
	r.o.Log.Info("Server has forgotten our session; opening another", "server", r.o.Server)
	ctx, cancel := context.WithTimeoutCause(ctx, r.renewLimit, fmt.Errorf("it did not answer within %s", r.renewLimit))
	defer cancel()
	f := newFlight(r.nextID.Add(1), nil)
	reply, err := r.exchange(ctx, f, "initialize", hello, appendCall(nil, f.id, "initialize", hello, nil), nil)
	if err != nil {
		return fmt.Errorf("%w, and no other could be opened: %w", errForgotten, err)
	}
	var result struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if json.Unmarshal(reply.Result, &result) != nil || result.ProtocolVersion != version {
		return fmt.Errorf("%w, and speaks another version now", errForgotten)
	}
	resp, err := r.post(ctx, "", nil, AppendNotification(nil, "notifications/initialized", nil), nil)
	if err != nil {
		return err
	}
	_, _ = io.CopyN(io.Discard, resp.Body, 512)
	resp.Body.Close()
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%w, and does not take another: %w", errForgotten, r.status(resp))
	}
	if r.o.OnRenewed != nil {
		r.o.OnRenewed()
	}
	return nil
}
