package loopback

import (
	"net"
	"net/http"
	"net/netip"
	"os"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// RefuseOtherUser returns an error if the process at the other end of r's TCP connection belongs
// to another user of this machine, or cannot be found although the system lists connections.
// Where the system does not list them (all but Linux), it returns nil. A data folder's Unix
// socket does not admit other users in the first place.
func RefuseOtherUser(r *http.Request) error {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return nil
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return nil
	}
	uid, answer := tcpPeerUser(local.AddrPort(), peer)
	switch {
	case answer == peerUnknown:
		return nil
	case answer == peerFound && (uid == os.Getuid() || uid == 0): // root can read our files anyway
		return nil
	}
	return &core.Error{
		Code: core.CodeRejected, Message: "this request came from another user of this machine",
		Hint: "Open Drawbridge in a browser that runs as the same user as Drawbridge, without a proxy that runs as another user.",
	}
}

// peerAnswer is the result of looking up the other end of a connection.
type peerAnswer int

const (
	peerUnknown peerAnswer = iota // the system does not list connections
	peerFound
	peerMissing // only our end is listed
)
