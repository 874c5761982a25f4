package loopback

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// MaxConnections is the maximum number of open connections of a listener. Further ones wait in
// the system's backlog.
const MaxConnections = 1024

// ErrPortTaken is wrapped by Listen's error when another program uses the port.
var ErrPortTaken = errors.New("address already in use")

// Listen listens on addr: "127.0.0.1:7575", "[::1]:7575" or "localhost:7575"; port 0 selects a
// free one. It rejects addresses other than loopback, because requests to this port run commands
// as the user. If the port is taken, the error names the process that uses it, where the system
// provides that. Listen never falls back to another port, because clients would then send their
// tokens to whichever program took the configured one.
func Listen(addr string) (net.Listener, error) {
	at, err := parseListen(addr)
	if err != nil {
		return nil, err
	}
	network := "tcp4"
	if at.Addr().Is6() {
		network = "tcp6"
	}
	ln, err := net.Listen(network, at.String())
	if err == nil {
		return &boundedListener{Listener: ln, free: make(chan struct{}, MaxConnections), done: make(chan struct{})}, nil
	}
	if !isAddressInUse(err) {
		return nil, &core.Error{
			Code: core.CodeUnavailable, Message: fmt.Sprintf("cannot listen on %s", at), Cause: err,
			Hint: "Choose another address or port with bridge.listen.",
		}
	}
	message := fmt.Sprintf("cannot listen on %s: the port is in use", at)
	if who := portOwner(at.Port()); who != "" {
		message += " by " + who
	}
	return nil, &core.Error{
		Code: core.CodeConflict, Message: message, Cause: ErrPortTaken,
		Hint: "Stop that program, or choose another port with bridge.listen.",
	}
}

// CheckAddress returns the error that Listen would return for addr before it opens a socket.
func CheckAddress(addr string) error {
	_, err := parseListen(addr)
	return err
}

func parseListen(addr string) (netip.AddrPort, error) {
	refuse := func(what string) error {
		return &core.Error{
			Code: core.CodeValidation, Message: fmt.Sprintf("cannot listen on %q: %s", addr, what),
			Hint: "Drawbridge listens on loopback addresses only, such as 127.0.0.1:7575.",
		}
	}
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return netip.AddrPort{}, refuse("it does not have the form host:port")
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return netip.AddrPort{}, refuse("the port is not a number from 0 to 65535")
	}
	if strings.EqualFold(host, "localhost") {
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return netip.AddrPort{}, refuse("the host is not an IP address")
	}
	if ip.Zone() != "" || ip.Is4In6() || !ip.IsLoopback() {
		return netip.AddrPort{}, refuse("it is not a loopback address")
	}
	return netip.AddrPortFrom(ip, uint16(port)), nil
}

// NewServer returns an http.Server with limits suitable for a loopback port: 5 s to read the
// request headers, bounded headers, and an idle timeout. It has no write timeout, because streams
// are long-lived; Guard sets the timeout of request bodies.
func NewServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		// Pass OPTIONS * to h, which rejects it.
		DisableGeneralOptionsHandler: true,
	}
}

// boundedListener limits the number of open connections to cap(free).
type boundedListener struct {
	net.Listener
	free chan struct{}
	once sync.Once
	done chan struct{}
}

func (b *boundedListener) Accept() (net.Conn, error) {
	select {
	case b.free <- struct{}{}:
	case <-b.done:
		return nil, net.ErrClosed
	}
	c, err := b.Listener.Accept()
	if err != nil {
		<-b.free
		if errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.ENOBUFS) {
			err = passingError{err}
		}
		return nil, err
	}
	return &slotConn{Conn: c, release: func() { <-b.free }}, nil
}

// passingError makes net/http wait and accept again, as it does when no descriptor is free, instead of ending.
type passingError struct{ error }

func (e passingError) Unwrap() error { return e.error }
func (passingError) Timeout() bool   { return false }
func (passingError) Temporary() bool { return true }

func (b *boundedListener) Close() error {
	b.once.Do(func() { close(b.done) })
	return b.Listener.Close()
}

// slotConn is a connection of a boundedListener. Its first Close releases its slot.
type slotConn struct {
	net.Conn
	once    sync.Once
	release func()
}

func (c *slotConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.release)
	return err
}
