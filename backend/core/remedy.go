package core

// RemedyKind is what the user can do about a failure of a server, for programs. The set of kinds is
// part of the API.
type RemedyKind string

const (
	RemedySignIn         RemedyKind = "sign-in"
	RemedyApprove        RemedyKind = "approve"         // the new command of the server
	RemedySetVariable    RemedyKind = "set-variable"    // Name: the environment variable
	RemedySetSecret      RemedyKind = "set-secret"      // Name: the secret, to which the entry refers
	RemedyUnlockSecrets  RemedyKind = "unlock-secrets"  // the keyring is locked
	RemedyInstallProgram RemedyKind = "install-program" // Name: the product
	RemedyInstallPackage RemedyKind = "install-package" // Name: of the package, or of a module in it
	RemedyStartDocker    RemedyKind = "start-docker"
	RemedyAllowDocker    RemedyKind = "allow-docker"    // the user has no permission to use Docker
	RemedyStartContainer RemedyKind = "start-container" // Name: the container
	RemedyFreePort       RemedyKind = "free-port"       // another program uses the address
	RemedyAllowAccess    RemedyKind = "allow-access"    // Name: the path without permission
	RemedyClearNpxCache  RemedyKind = "clear-npx-cache" // Name: the folder
	RemedyCheckNetwork   RemedyKind = "check-network"
	RemedyEditConfig     RemedyKind = "edit-config" // Name: the key in the entry of the server, or ""
	RemedySeeLog         RemedyKind = "see-log"     // no more specific remedy is known
)

// Remedy is what the user can do about a failure of a server. Hints say the same as a sentence. The
// zero value means that nothing can be done.
type Remedy struct {
	Kind    RemedyKind `json:"kind" enum:"sign-in,approve,set-variable,set-secret,unlock-secrets,install-program,install-package,start-docker,allow-docker,start-container,free-port,allow-access,clear-npx-cache,check-network,edit-config,see-log"`
	Name    string     `json:"name,omitempty"`
	Command string     `json:"command,omitempty"` // for a terminal; Drawbridge does not run it
	URL     string     `json:"url,omitempty"`     // documentation
}

// EditConfig returns the remedy of changing a key in the entry of a server.
func EditConfig(key string) Remedy { return Remedy{Kind: RemedyEditConfig, Name: key} }

// SignIn returns the remedy of signing in to a remote server. id is that of the sign-in.
func SignIn(id string) Remedy {
	return Remedy{Kind: RemedySignIn, Name: id, Command: "drawbridge login " + id}
}
