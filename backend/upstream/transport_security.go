package upstream

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// checkTransportSecurity refuses plain http to any other machine. The host is parsed, because a
// name can begin like a loopback address.
func (r *Remote) checkTransportSecurity(server string) error {
	u, err := url.Parse(r.URL)
	if err != nil || u.Scheme != "http" || r.AllowInsecure || isLoopback(u.Hostname()) {
		return nil // invalid URLs are refused elsewhere
	}
	return &core.Error{
		Code:    core.CodeValidation,
		Message: fmt.Sprintf("cannot reach server %q: its url uses plain http to another machine", server),
		Hint:    `Use https, or set "allowInsecure": true if you trust the network in between.`,
		Remedy:  core.EditConfig("url"),
		Fields:  []core.FieldError{{Field: "url", Error: "uses plain http to another machine"}},
	}
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback() && address.Zone() == ""
}
