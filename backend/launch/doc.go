// Package launch starts the program of an npx package itself, without npm, once npx has run it.
//
// The first start of an entry is npx. From the running processes, the package learns which program npx
// started, with which arguments and environment, and what that depends on: files of npm's cache, of npm
// and of the project, the version of node. Before every later start, all of that is compared again. If
// anything differs, npx starts the server and the package learns anew; if files of a package were
// replaced although its version is the same, nothing starts until the user has decided.
package launch
