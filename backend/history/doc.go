// Package history works with recorded calls: it replays, compares and exports them, runs checks,
// which are saved calls with expected results, and validates results against output schemas.
// FrameLog records protocol messages for debugging.
//
// Package store stores the calls, and package gateway makes new ones. Exports contain the stored
// payloads, which are redacted; this package reads no secrets.
package history
