package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
)

const (
	// maxLogTail is the number of bytes read from the end of the log of Drawbridge.
	maxLogTail = 256 << 10
	// maxLogLines is the number of its lines that are shown.
	maxLogLines = 200
)

// logsOfFiles prints from files while no daemon runs: the end of the log of Drawbridge, or the log
// of a server.
func (p *program) logsOfFiles(servers []string, level string, follow bool) error {
	folders, err := p.folders()
	if err != nil {
		return err
	}
	if follow {
		return &core.Error{Code: core.CodeUnavailable, Message: "cannot follow the log: Drawbridge is not running", Hint: notRunningHint}
	}
	path, name := filepath.Join(folders.Logs, "drawbridge.log"), "drawbridge"
	lines, err := programLog(path)
	if len(servers) == 1 {
		name = p.configuredID(servers[0])
		logs := serverlog.Open(filepath.Join(folders.Logs, "servers"), nil) // redacted when they were written
		defer logs.Close()
		path = logs.Path(name)
		lines, err = nil, nil
		for _, l := range logs.Tail(name, 10_000) {
			lines = append(lines, logLine{At: l.At, Server: name, Level: string(l.Level), Text: l.Text})
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot read the log: %w", err)
	}
	wants, _ := serverlog.Filter(level)
	lines = slices.DeleteFunc(lines, func(l logLine) bool { return !wants(serverlog.Line{Level: serverlog.Level(l.Level)}) })
	if len(lines) == 0 {
		return &core.Error{Code: core.CodeUnavailable, Message: "Drawbridge is not running, and its log for " + name + " contains no matching lines: " + path, Hint: notRunningHint}
	}
	if !p.json {
		fmt.Fprintln(p.Stderr, escapeLine("Drawbridge is not running. The last lines of "+path+":"))
	}
	return p.printLogLines(lines, false)
}

// configuredID returns the id of the configured server with the given id or name.
func (p *program) configuredID(text string) string {
	folders, err := p.folders()
	if err != nil {
		return text
	}
	current, err := p.sources(folders).Load()
	if err != nil {
		return text
	}
	names := make([]core.ServerIdentity, len(current.Servers))
	for i, s := range current.Servers {
		names[i] = core.ServerIdentity{ID: s.ID, Label: s.Label}
	}
	if id, _ := core.FindServer(names, text); id != "" {
		return id
	}
	return text
}

// programLog reads the last lines of the JSON log of Drawbridge.
func programLog(path string) (lines []logLine, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	tail := make([]byte, min(info.Size(), maxLogTail))
	n, err := f.ReadAt(tail, info.Size()-int64(len(tail)))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	for text := range bytes.Lines(tail[:n]) {
		if l, ok := programLine(text); ok {
			lines = append(lines, l)
		}
	}
	return lines[max(0, len(lines)-maxLogLines):], nil
}

// programLine parses one line; it refuses the first line of a tail, which may be cut.
func programLine(text []byte) (l logLine, ok bool) {
	var fields map[string]any
	if json.Unmarshal(text, &fields) != nil {
		return l, false
	}
	take := func(key string) string {
		value := fields[key]
		delete(fields, key)
		s, _ := value.(string)
		return s
	}
	l = logLine{Server: "drawbridge", Level: strings.ToLower(take(slog.LevelKey)), Text: take(slog.MessageKey)}
	l.At, _ = time.Parse(time.RFC3339Nano, take(slog.TimeKey))
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		l.Text += fmt.Sprintf(" %s=%v", key, fields[key])
	}
	return l, true
}
