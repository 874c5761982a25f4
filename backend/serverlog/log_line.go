package serverlog

import (
	"time"
)

// Level is the kind of a line: the origin Stderr, or the severity of a lifecycle event.
type Level string

const (
	Stderr Level = "stderr" // written by the server to stderr
	Info   Level = "info"   // lifecycle: started, listed, stopped
	Warn   Level = "warn"   // lines were omitted or dropped
	Error  Level = "error"  // a failure and its cause
)

// Line is one line of a server's log. Text does not include the line break, and may contain
// control characters.
type Line struct {
	At    time.Time `json:"at"` // UTC
	Level Level     `json:"level"`
	Text  string    `json:"text"`
}
