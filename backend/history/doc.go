// Package history works with calls: it lists, replays, compares and exports recorded ones, makes those
// of the user, runs checks,
// which are saved calls with expected results, and validates results against output schemas.
// FrameLog records protocol messages for debugging.
//
// Package store stores the calls, and package gateway sends new ones. Exports contain the stored
// payloads, which are redacted; this package reads no secrets.
package history
