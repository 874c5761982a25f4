// Package config is the configuration format: it reads files into a [Config], fills in defaults,
// validates every value and compares configurations. Watching and applying them is backend/reload.
//
// The map of servers is the de-facto standard, so that the text of a README can be pasted:
//
//	{"mcpServers": {"files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/tmp"]}}}
//
// Comments, trailing commas and YAML are accepted. An error in one server leaves out that server; an
// error in the file or in a shared setting refuses the file. An unknown key is a warning.
package config
