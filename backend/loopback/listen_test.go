package loopback

import (
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shortOfMemory is a listener whose first Accept fails.
type shortOfMemory struct {
	net.Listener
	once sync.Once
}

func (l *shortOfMemory) Accept() (c net.Conn, err error) {
	l.once.Do(func() { err = &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.ENOMEM)} })
	if err != nil {
		return nil, err
	}
	return l.Listener.Accept()
}

func TestShortageOfMemoryDoesNotEndServer(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	server := NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.ErrorLog = log.New(io.Discard, "", 0)
	ended := make(chan error, 1)
	go func() {
		ended <- server.Serve(&boundedListener{Listener: &shortOfMemory{Listener: ln}, free: make(chan struct{}, 1), done: make(chan struct{})})
	}()
	c, err := net.Dial("tcp4", ln.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "GET / HTTP/1.0\r\n\r\n")
	require.NoError(t, err)
	_, err = io.ReadAll(c)
	assert.NoError(t, err)
	assert.NoError(t, server.Close())
	err = <-ended
	assert.ErrorIs(t, err, http.ErrServerClosed, "the server ended")
}
