package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/cli"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/desktop"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// startLimit is how long to wait for the daemon to start.
const startLimit = 30 * time.Second

// showOrStart runs the program without a subcommand: it shows the running instance, and first
// starts one in the background if none runs.
func showOrStart(ctx context.Context, o cli.ServeOptions) error {
	printAddress := os.Getenv(printAddressVariable) != ""
	os.Unsetenv(printAddressVariable) // the daemon must not inherit it
	to := ""
	if o.Link != "" {
		var err error
		if to, err = desktop.ResolveLink(o.Link); err != nil {
			return err
		}
	}
	if err := o.Folders.Make(); err != nil {
		return fmt.Errorf("cannot use the data folder: %w (choose another one with --data)", err)
	}
	held, err := loopback.IsDaemonRunning(o.Folders.Data)
	if err != nil {
		return err
	}
	var ended <-chan error // receives the exit of the daemon that we started
	if !held {
		if err := offerFreePort(ctx, o, "drawbridge"); err != nil {
			return err
		}
		os.Remove(o.Folders.ExitReasonFile()) // from now on the file contains the error of this daemon
		if ended, err = launch(o.Link); err != nil {
			return err
		}
	}
	rt, err := awaitDaemon(ctx, o.Folders, ended)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	var out io.Writer = os.Stdout
	switch {
	case printAddress:
	case o.JSON:
		out = os.Stderr // stdout has the document only
		if err := json.NewEncoder(os.Stdout).Encode(map[string]string{"url": rt.URL, "version": rt.Version}); err != nil {
			return err
		}
	default:
		fmt.Println("Drawbridge is running at " + rt.URL)
	}
	place := map[string]string{"to": to}
	if held && !printAddress { // a window may already be open
		var window struct{ Shown bool }
		if err := callDaemon(ctx, rt, o.Folders.Data, "window", place, &window); err == nil && window.Shown {
			return nil
		}
	}
	var page struct{ URL string }
	if err := callDaemon(ctx, rt, o.Folders.Data, "open-code", place, &page); err != nil {
		return err
	}
	if page.URL == "" {
		return errors.New("the daemon returned no URL")
	}
	if printAddress {
		return json.NewEncoder(os.Stdout).Encode(map[string]string{"url": page.URL, "data": o.Folders.Data})
	}
	return openUI(page.URL, o.Folders.Data, false, out)
}

// printAddressVariable is set by a window that was started directly, as macOS starts the program of
// a bundle. The program then prints the address and the data folder as JSON and opens nothing.
const printAddressVariable = "DRAWBRIDGE_PRINT_ADDRESS"

// launch starts a daemon in the background with our own arguments except the link. It does not wait
// for the daemon; ended receives its exit error.
func launch(link string) (ended <-chan error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return process.LaunchAndNotify(nil, self, append([]string{"serve"}, slices.DeleteFunc(slices.Clone(os.Args[1:]), func(arg string) bool { return link != "" && arg == link })...)...)
}

// awaitDaemon waits until the daemon of a data folder responds. If the daemon that we started exits
// before and no other daemon holds the folder, the error is the reason.
func awaitDaemon(ctx context.Context, folders config.Folders, ended <-chan error) (loopback.Runtime, error) {
	tick, limit := time.NewTicker(20*time.Millisecond), time.NewTimer(startLimit)
	defer tick.Stop()
	defer limit.Stop()
	for {
		rt, ok, err := loopback.FindDaemon(folders.Data)
		if ok || err != nil {
			return rt, err
		}
		select {
		case <-tick.C:
		case end := <-ended:
			ended = nil
			if held, err := loopback.IsDaemonRunning(folders.Data); err != nil || held {
				continue // another process started a daemon first
			}
			return rt, startFailure(folders, end)
		case <-ctx.Done():
			return rt, ctx.Err()
		case <-limit.C:
			if starting := loopback.StartingDaemon(folders.Data); starting != "" {
				return rt, &core.Error{Code: core.CodeUnavailable, Message: starting, Hint: "It continues in the background. " + stillStartingHint}
			}
			return rt, &core.Error{
				Code: core.CodeUnavailable, Message: "Drawbridge did not start",
				Hint: "See its log: drawbridge logs. To see the error directly, run it in the foreground: drawbridge serve.",
			}
		}
	}
}

// stillStartingHint says what to do about a daemon that does not respond yet.
const stillStartingHint = "Try again in a moment. Its log shows what it is waiting for: drawbridge logs."

// startFailure returns the error that a daemon wrote when it exited during its start.
func startFailure(folders config.Folders, end error) error {
	e := &core.Error{Code: core.CodeUnavailable, Message: "Drawbridge did not start", Hint: "See its log: drawbridge logs.", Cause: end}
	if why, err := os.ReadFile(folders.ExitReasonFile()); err == nil && len(why) > 0 {
		e.Message += ": " + strings.TrimSpace(string(why))
	} else if end != nil {
		e.Message += ": its process exited: " + end.Error()
	}
	return e
}

// callDaemon sends a request to the daemon as the user and decodes the response into out.
func callDaemon(ctx context.Context, rt loopback.Runtime, data, route string, in, out any) error {
	admin, err := loopback.ReadAdminToken(data)
	if err != nil {
		return err
	}
	req, err := loopback.NewAPIRequest(ctx, http.MethodPost, rt.URL, route, admin, in)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("Drawbridge responded with status %d", resp.StatusCode)
	}
	return json.NewDecoder(resp.Body).Decode(out)
}
