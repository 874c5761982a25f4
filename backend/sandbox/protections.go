package sandbox

// Protection is something that a sandbox can or cannot confine on this system.
type Protection struct {
	Name     string `json:"name"`
	Enforced bool   `json:"enforced" doc:"Whether this system can enforce it"`
	Requires string `json:"requires" doc:"What it requires, or why it is not possible"`
}

// Protections returns what this system can and cannot enforce for a confined program.
func Protections() []Protection { return protections(landlockABIVersion(), filtersSockets()) }

func protections(version int, filters bool) []Protection {
	return []Protection{
		{"Reading, writing and running files", version >= 1, "Linux 5.13 with Landlock"},
		{"Truncating files", version >= truncateVersion, "Linux 6.2"},
		{"TCP connections to individual ports", version >= networkVersion, "Linux 6.7"},
		{"Network connections, all or none", version >= 1 && filters, "Linux 5.13 with Landlock, on amd64 or arm64"},
		{"Device ioctls", version >= deviceVersion, "Linux 6.10"},
		{"Signals to other processes, and connections to their abstract sockets", version >= scopeVersion, "Linux 6.12"},
		{"Gaining privileges through setuid", version >= 1, "Linux 5.13 with Landlock"},
		{"Connections to individual hosts", false, "not possible: the kernel filters by port only"},
		{"Unix sockets, all or none", version >= 1 && filters, "Linux 5.13 with Landlock, on amd64 or arm64"},
		{"Kernel keyring, and resource limits of other processes", version >= 1 && filters, "Linux 5.13 with Landlock, on amd64 or arm64"},
	}
}

// ContainerProtections returns what a sandbox confines of a container.
func ContainerProtections() []Protection {
	return []Protection{
		{"Writing to files in the container, outside its mounts", true, "Docker"},
		{"Files on this machine, outside the container's mounts", true, "Docker"},
		{"Network connections, all or none", true, "Docker"},
		{"Gaining privileges through setuid", true, "Docker"},
		{"Connections to individual ports or hosts", false, "not possible for containers"},
	}
}
