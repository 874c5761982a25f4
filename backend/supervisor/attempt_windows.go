package supervisor

import "io"

// attempt is for systems whose pipes can be written to without waiting.
type attempt struct{}

func newAttempt(io.Writer) *attempt { return nil }

func (*attempt) write([]byte) int { return 0 }
