package serverlog

import "slices"

// weights are the levels of what happened to a server, the least first.
var weights = []Level{"debug", Info, Warn, Error}

// Choices are what Wants knows, for the help of a command.
const Choices = "debug, info, warn, error, stderr or lifecycle"

// Wants returns which lines a choice stands for: a level stands for lifecycle lines of
// that weight and above, where what the server wrote counts as info; "stderr" stands
// for what the server wrote alone, and "lifecycle" for what happened to it alone. ""
// is everything. ok is false for anything else.
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
