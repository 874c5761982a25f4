// Package config is the configuration format: it reads files into a [Config], fills in defaults,
// validates every value, compares configurations, watches the files and edits them.
//
// The map of servers is the de-facto standard, so that the text of a README can be pasted:
//
//	{"mcpServers": {"files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/tmp"]}}}
//
// Comments, trailing commas and YAML are accepted. An error in one server leaves out that server; an
// error in the file or in a shared setting refuses the file. An unknown key is a warning, unless its spelling would stop servers or lift a limit.
//
// [Reloader.Run] watches the files. A change passes through these steps:
//
//	file > debounce > Load > keep broken servers > Equal > Apply > save last good > publish
//
// An invalid edit stops nothing. If a file cannot be read, the whole configuration remains in
// effect; if one server is invalid, that server keeps its previous configuration. Both are
// reported with file, line and column. Edits made by the page and the CLI preserve comments and
// order, and never overwrite a concurrent change.
package config
