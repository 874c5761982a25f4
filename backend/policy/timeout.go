package policy

import "time"

// Default timeouts.
const (
	DefaultTimeout = 30 * time.Second // time without a response or progress
	DefaultCeiling = 10 * time.Minute // total time, regardless of progress
	AnswerTimeout  = 2 * time.Minute  // time for a client to answer a request of a server
)

// setTimeouts sets the timeouts of a tool; zero means the default. The timeout is limited to the
// ceiling.
func (t *tool) setTimeouts(timeout, ceiling time.Duration) {
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
