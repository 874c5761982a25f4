package loopback

import (
	"net"
	"sync"
)

// boundedConn is a connection of a boundedListener. Its first Close releases its slot.
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
