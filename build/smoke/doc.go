// Package smoke holds one test that runs the built program as a user would, in seconds
// and with nothing installed: make test builds the program and runs it.
package smoke
