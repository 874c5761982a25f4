package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"drawbridge/backend/cli"
	"drawbridge/backend/hub"
	"drawbridge/backend/loopback"
	"drawbridge/backend/process"
)

// startLimit is how long a person waits for a daemon to start.
const startLimit = 30 * time.Second

// desktop is the program without a command: it shows the running instance, after
// starting one in the background when there is none.
func desktop(ctx context.Context, o cli.ServeOptions) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := o.Folders.Make(); err != nil {
		return err
	}
	held, err := loopback.Held(o.Folders.Data)
	if err != nil {
		return err
	}
	if !held {
		if err := launch(); err != nil {
			return err
		}
	}
	rt, err := awaitDaemon(ctx, o.Folders.Data)
	if err != nil {
		return err
	}
	fmt.Println("Drawbridge runs at " + rt.URL)
	url, err := openURL(ctx, rt, o.Folders.Data)
	if err != nil {
		return err
	}
	return show(url, os.Stdout)
}

// launch starts a daemon in the background, with our own arguments. It does not
// wait for it.
func launch() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return process.Launch(nil, self, append([]string{"serve"}, os.Args[1:]...)...)
}

// awaitDaemon waits until the daemon of a data folder answers.
func awaitDaemon(ctx context.Context, data string) (loopback.Runtime, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		rt, ok, err := loopback.FindDaemon(data)
		if ok || err != nil {
			return rt, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return rt, &hub.Error{
				Code: hub.CodeUnavailable, Message: "Drawbridge did not start",
				Hint: "Its log says why: drawbridge logs. In the foreground it tells at once: drawbridge serve.",
			}
		}
	}
}

// openURL asks the daemon for the page's address with a one-time code.
func openURL(ctx context.Context, rt loopback.Runtime, data string) (string, error) {
	admin, err := loopback.ReadAdmin(data)
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, rt.URL+"/api/v1/open-code", bytes.NewReader([]byte("{}")))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+admin)
	req.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var doc struct{ URL string }
	if err := json.NewDecoder(resp.Body).Decode(&doc); err != nil || doc.URL == "" {
		return "", fmt.Errorf("drawbridge gave no address (status %d)", resp.StatusCode)
	}
	return doc.URL, nil
}
