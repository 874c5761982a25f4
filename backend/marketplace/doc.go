// Package marketplace installs servers and updates their packages. Servers that can be installed are
// records in the format of the official MCP registry (server.json), and bundles (.mcpb).
//
// The registry is not reviewed, so its text is untrusted: it may select which package runs, and
// nothing else. The program that runs a package and the options of that program come from allow
// lists; anything beyond them is refused with an error that names it. An installation is a
// configuration entry that the user sees first. The network requests are List.Refresh, which the
// user starts, and those of npm, uv and the Docker Engine that find the versions of a package.
package marketplace
