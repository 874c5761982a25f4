package serverlog

import "slices"

// severities are the levels of lifecycle lines in ascending order of severity.
var severities = []Level{"debug", Info, Warn, Error}

// FilterChoices lists the values that Filter accepts, for help texts.
const FilterChoices = "debug, info, warn, error, stderr or lifecycle"

// Filter returns a filter for a choice. A level selects lines of at least this severity, where
// stderr output counts as info. "stderr" selects only stderr output, "lifecycle" only lifecycle
// events, and "" all lines. ok is false for any other choice.
func Filter(choice string) (wants func(Line) bool, ok bool) {
	switch choice {
	case "":
		choice = "debug"
	case string(Stderr):
		return func(l Line) bool { return l.Level == Stderr }, true
	case "lifecycle":
		return func(l Line) bool { return l.Level != Stderr }, true
	}
	least := slices.Index(severities, Level(choice))
	return func(l Line) bool { return severity(l.Level) >= least }, least >= 0
}

func severity(l Level) int {
	if i := slices.Index(severities, l); i >= 0 {
		return i
	}
	return 1
}
