// Package history does things with recorded calls: it makes them again, compares two,
// writes them out, and checks that what worked still works. The store keeps the calls;
// the gateway makes them.
package history
