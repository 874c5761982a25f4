package policy

import "time"

// How long a call may take unless the server's configuration says otherwise.
const (
	DefaultTimeout = 30 * time.Second // without an answer or progress
	DefaultCeiling = 10 * time.Minute // in all, however much progress there is
	AnswerTimeout  = 2 * time.Minute  // for a client's answer to a request of the server
)

// times sets how long a call may take; zero means the default. Nothing takes longer
// than its ceiling.
func (t *tool) times(timeout, ceiling time.Duration) {
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	if ceiling <= 0 {
		ceiling = DefaultCeiling
	}
	if timeout >= ceiling {
		timeout, t.timeoutKey = ceiling, t.ceilingKey
	}
	t.timeout, t.ceiling = timeout, ceiling
}
