package main

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"gopkg.in/natefinch/lumberjack.v2"
)

// openLog returns the program's log. It writes JSON lines to dir, rotated at 10 MB with five files
// retained, and text to terminal from level INFO (DEBUG with debug). Callers never log arguments,
// results or secrets.
func openLog(dir string, terminal io.Writer, debug bool) (*slog.Logger, io.Closer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	path := filepath.Join(dir, "drawbridge.log")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	f.Close() // the file now exists with our mode, which lumberjack does not change
	file := &lumberjack.Logger{Filename: path, MaxSize: 10, MaxBackups: 5}
	level := slog.LevelInfo
	if debug {
		level = slog.LevelDebug
	}
	options := &slog.HandlerOptions{Level: level}
	both := slog.NewMultiHandler(slog.NewJSONHandler(file, options), slog.NewTextHandler(terminal, options))
	return slog.New(both), file, nil
}
