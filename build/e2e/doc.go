// Package e2e tests the built programs from outside, with real servers and real
// clients: make test-e2e. Every test starts a daemon of its own with its data in a
// temporary folder. What it needs from npm is pinned in package.json beside it;
// pictures that the tests take are in output/, for people to look at.
package e2e
