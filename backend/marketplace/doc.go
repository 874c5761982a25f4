// Package marketplace describes servers that can be installed: records in the format of the official
// MCP registry (server.json), and bundles (.mcpb).
//
// Nobody reviews a registry, so its text is untrusted data: it decides which package is run and
// nothing else. The program that runs a package and the options of that program come from closed
// lists; everything that would reach further is refused with an error that names it. The package
// never runs a program: an installation is an entry for the configuration, shown to the user first.
// The only network request is that of Refresh, which the user starts.
package marketplace
