package loopback

import (
	"net"
	"sync"
)

// boundedConn is one connection of a bounded listener: it gives its place back when it is
// closed, however often.
type boundedConn struct {
	net.Conn
	once    sync.Once
	release func()
}

func (c *boundedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.release)
	return err
}
