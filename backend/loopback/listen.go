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
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// MaxConnections is how many connections a listener of ours holds open at once.
// More wait in the system's backlog.
const MaxConnections = 1024

// ErrPortTaken is in the chain of Listen's error when another program has the port.
var ErrPortTaken = errors.New("address already in use")

// Listen opens addr, "127.0.0.1:7575", "[::1]:7575" or "localhost:7575"; port 0
// picks a free one. Any address that is not a loopback address is refused: behind
// this port are commands that run as the user. A port that is taken is an error
// that names its holder where the system tells; we never move to another port, since
// clients would then send their tokens to whoever took it.
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
	if !portTaken(err) {
		return nil, &core.Error{
			Code: core.CodeUnavailable, Message: fmt.Sprintf("cannot listen on %s", at), Cause: err,
			Hint: "Choose another address or port with bridge.listen.",
		}
	}
	message := fmt.Sprintf("cannot listen on %s: the port is taken", at)
	if who := portOwner(at.Port()); who != "" {
		message += " by " + who
	}
	return nil, &core.Error{
		Code: core.CodeConflict, Message: message, Cause: ErrPortTaken,
		Hint: "End that program, or choose another port with bridge.listen.",
	}
}

// CheckAddress is the error with which Listen would refuse addr before it tries.
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
		return netip.AddrPort{}, refuse("it is not of the form host:port")
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

// NewServer returns an http.Server with the limits that a loopback port needs: a
// client that is slow with its headers is closed after 5 s, headers are bounded, and
// idle connections end. There is no write timeout, since streams are long; bodies
// get theirs from Guard.
func NewServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		// OPTIONS * comes to h as well, which refuses it.
		DisableGeneralOptionsHandler: true,
	}
}

// boundedListener is a listener that holds at most cap(free) connections open.
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
		return nil, err
	}
	return &boundedConn{Conn: c, release: func() { <-b.free }}, nil
}

func (b *boundedListener) Close() error {
	b.once.Do(func() { close(b.done) })
	return b.Listener.Close()
}
