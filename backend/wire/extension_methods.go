package wire

import "strings"

// protocolMethods are the first parts of the methods that the protocol itself has or reserves, with and
// without "notifications/". Their meaning is known, and policy and approvals apply to them.
var protocolMethods = map[string]bool{
	"tools": true, "prompts": true, "resources": true, "completion": true, "logging": true, "sampling": true, "elicitation": true, "roots": true,
	"notifications": true, "subscriptions": true, "server": true, "tasks": true, "initialize": true, "ping": true, "rpc": true,
	"initialized": true, "cancelled": true, "progress": true, "message": true,
}

const maxExtensionMethod = 256 // bytes

// IsExtensionMethod reports whether a request of the method may belong to an extension that Drawbridge
// does not know.
func IsExtensionMethod(method string) bool {
	first, _, _ := strings.Cut(method, "/")
	first, _, _ = strings.Cut(first, ".")
	return method != "" && len(method) <= maxExtensionMethod && !protocolMethods[strings.ToLower(first)]
}

// IsExtensionNotification is IsExtensionMethod for notifications.
func IsExtensionNotification(method string) bool {
	return IsExtensionMethod(strings.TrimPrefix(method, "notifications/"))
}
