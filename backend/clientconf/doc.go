// Package clientconf connects MCP clients: it finds their configuration files, writes one entry
// into them without touching anything else, and removes it exactly.
//
// A client is a row of data (clients.json), not code: its paths, its format, the shape of an entry
// and what its parser accepts. The steps are the same for all clients:
//
//	locate > read > plan (a diff to show) > lock > splice > verify > write > undo
//
// A file that cannot be edited safely is refused, and the user gets a snippet to paste. The
// package never runs a client and never follows a value that a file contains.
//
// The files are named after these steps. client.go is the entry point; client_* describe and
// locate clients; format_* edit JSON, TOML and YAML; plan_* prepare a change; write_* apply and
// record it; undo_* revert it; maintain_* watch and repair connections; import_* convert servers
// of clients; secrets_* extract secrets; setup_* help to connect by hand. routes* and commands* are
// the operations and commands; activity.go tells them what the clients do.
package clientconf
