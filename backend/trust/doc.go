// Package trust detects tools whose definitions change after they were first seen.
//
// A tool is trusted on first use. Later definitions are compared with the trusted one ([Baseline]);
// a tool that differs is withheld from clients until the user accepts the change. Records survive
// restarts, crashes and empty lists. Definitions are also scanned for signs of attacks: hidden
// text, and instructions to read files, to call other tools or to conceal something from the user.
// These findings are warnings with a reason and withhold nothing.
package trust
