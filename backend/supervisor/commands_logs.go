package supervisor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/backend/web"

	"github.com/spf13/cobra"
)

// logLine is one line of the log of a server; Server is added here.
type logLine struct {
	At     time.Time `json:"at"`
	Server string    `json:"server"`
	Level  string    `json:"level"`
	Text   string    `json:"text"`
}

func logs(e *terminal.Env) *cobra.Command {
	var follow bool
	var level string
	tail := 50
	cmd := &cobra.Command{
		Use: "logs [SERVER]", Short: "Show the stderr output and the lifecycle events of servers", Args: terminal.ArgCount(0, 1),
		Long: `Show the stderr output and the lifecycle events of servers.

--level debug, info, warn or error shows lines of that level and above; stderr output
has the level info. --level stderr shows only stderr output, --level lifecycle only
lifecycle events.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, ok := serverlog.Filter(level); !ok || level == "" {
				return terminal.UsageError(fmt.Errorf("--level must be %s", serverlog.FilterChoices))
			}
			if tail < 0 {
				return terminal.UsageError(errors.New("--tail must not be negative"))
			}
			if !e.DaemonRuns() {
				return logsOfFiles(e, args, level, follow, tail)
			}
			d := e.Daemon()
			seen := map[string]time.Time{} // time of the last printed line, by server
			for {
				lines, err := daemonLogs(cmd.Context(), d, args, level, seen)
				if err != nil {
					if cmd.Context().Err() != nil {
						return nil
					}
					return err
				}
				if err := printLogLines(e, lastLines(lines, tail), len(args) == 0); err != nil || !follow {
					return err
				}
				tail = 0
				select {
				case <-cmd.Context().Done():
					return nil
				case <-time.After(time.Second):
				}
			}
		},
	}
	cmd.Flags().IntVarP(&tail, "tail", "n", tail, "show only the last `NUMBER` of lines; 0 shows all")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "print new lines until interrupted")
	cmd.Flags().StringVar(&level, "level", "debug", "show lines of this `LEVEL`: "+serverlog.FilterChoices)
	return cmd
}

// logs returns the lines newer than seen, of one server or all, and updates seen.
func daemonLogs(ctx context.Context, d *terminal.Daemon, servers []string, level string, seen map[string]time.Time) ([]logLine, error) {
	if len(servers) == 0 {
		list, err := terminal.Get[web.List[core.ServerStatus]](ctx, d, "servers", nil)
		if err != nil {
			return nil, err
		}
		for _, s := range list.Items {
			servers = append(servers, s.ID)
		}
	}
	var all []logLine
	for _, id := range servers {
		query := url.Values{"level": {level}, "limit": {"10000"}}
		if last, ok := seen[id]; ok {
			query.Set("after", last.Format(time.RFC3339Nano))
		}
		list, err := terminal.Get[web.List[logLine]](ctx, d, terminal.ServerPath(id, "/log"), query)
		if err != nil {
			return nil, err
		}
		for _, l := range list.Items {
			l.Server = id
			all = append(all, l)
			seen[id] = l.At
		}
	}
	slices.SortStableFunc(all, func(a, b logLine) int { return a.At.Compare(b.At) })
	return all, nil
}

// lastLines returns the last n lines, or all if n is 0.
func lastLines(lines []logLine, n int) []logLine {
	if n == 0 {
		return lines
	}
	return lines[max(0, len(lines)-n):]
}

func printLogLines(e *terminal.Env, lines []logLine, withServer bool) error {
	for _, l := range lines {
		if e.JSON {
			if err := e.PrintJSON(l); err != nil {
				return err
			}
			continue
		}
		at := l.At.Local()
		text := at.Format("15:04:05.000") + " "
		if at.Format(time.DateOnly) != time.Now().Format(time.DateOnly) {
			text = at.Format(time.DateOnly) + " " + text
		}
		if withServer {
			text += terminal.EscapeLine(l.Server) + " "
		}
		if _, err := fmt.Fprintf(e.Stdout, "%s%-5s %s\n", text, terminal.EscapeLine(l.Level), terminal.EscapeText(l.Text)); err != nil {
			return err
		}
	}
	return nil
}

const (
	// maxLogTail is the number of bytes read from the end of the log of Drawbridge.
	maxLogTail = 256 << 10
	// maxLogLines is the number of its lines that are shown.
	maxLogLines = 200
)

// logsOfFiles prints from files while no daemon runs: the end of the log of Drawbridge, or the log
// of a server.
func logsOfFiles(e *terminal.Env, servers []string, level string, follow bool, tail int) error {
	folders, err := e.Folders()
	if err != nil {
		return err
	}
	if follow {
		return &core.Error{Code: core.CodeUnavailable, Message: "cannot follow the log: Drawbridge is not running", Hint: terminal.NotRunningHint}
	}
	path, name := filepath.Join(folders.Logs, "drawbridge.log"), "drawbridge"
	lines, err := programLog(path)
	if len(servers) == 1 {
		name = configuredID(e, servers[0])
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
		return &core.Error{Code: core.CodeUnavailable, Message: "Drawbridge is not running, and its log for " + name + " contains no matching lines: " + path, Hint: terminal.NotRunningHint}
	}
	if !e.JSON {
		fmt.Fprintln(e.Stderr, terminal.EscapeLine("Drawbridge is not running. The last lines of "+path+":"))
	}
	return printLogLines(e, lastLines(lines, tail), false)
}

// configuredID returns the id of the configured server with the given id or name.
func configuredID(e *terminal.Env, text string) string {
	folders, err := e.Folders()
	if err != nil {
		return text
	}
	current, err := e.Sources(folders).Load()
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
	f, err := osutil.Open(path)
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
