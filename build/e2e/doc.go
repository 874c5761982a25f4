// Package e2e tests the built programs from outside, with real servers and real clients: make
// test-e2e.
//
// Every test starts its own daemon with its data in a temporary folder. Packages from npm are pinned
// in package.json; screenshots of the tests are in output/.
package e2e
