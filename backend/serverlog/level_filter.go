package serverlog

import "slices"

// weights are the levels of lifecycle lines in ascending order of severity.
var weights = []Level{"debug", Info, Warn, Error}

// Choices lists the values that Wants accepts, for help texts.
const Choices = "debug, info, warn, error, stderr or lifecycle"

// Wants returns a filter for a choice. A level selects lines of at least this severity, where
// stderr output counts as info. "stderr" selects only stderr output, "lifecycle" only lifecycle
// events, and "" all lines. ok is false for any other choice.
func Wants(choice string) (wants func(Line) bool, ok bool) {
	switch choice {
	case "":
		choice = "debug"
	case string(Stderr):
		return func(l Line) bool { return l.Level == Stderr }, true
	case "lifecycle":
		return func(l Line) bool { return l.Level != Stderr }, true
	}
	least := slices.Index(weights, Level(choice))
	return func(l Line) bool { return weight(l.Level) >= least }, least >= 0
}

func weight(l Level) int {
	if i := slices.Index(weights, l); i >= 0 {
		return i
	}
	return 1
}
