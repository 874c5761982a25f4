package dial

import "io"

// nonblockingWriter is for systems whose pipes can be written to without waiting.
type nonblockingWriter struct{}

func newNonblockingWriter(io.Writer) *nonblockingWriter { return nil }

func (*nonblockingWriter) write([]byte) int { return 0 }
