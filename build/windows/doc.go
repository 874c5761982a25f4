// Package windows tests the built programs of Windows from outside: the stage windows of make test-all
// runs it under Wine.
package windows
