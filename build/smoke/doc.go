// Package smoke contains one test that runs the built program as a user would. It takes seconds and
// needs no installed tools. make test builds the program and runs it.
package smoke
