// Package store keeps what must outlive a run, in one SQLite file: the calls, the
// catalogs of servers, and small facts. It is the only package with SQL.
//
// Two handles are open on the file: one connection that writes, which the recorder
// owns while it runs, and a few that read. Times are microseconds since 1970, UTC;
// durations nanoseconds; a call's id is its time made distinct, so the order of ids
// is the order of time.
//
// Calls never wait for the disk and never fail because of it: Recorder.Record copies
// what it keeps into a bounded queue, and a Recorder that cannot write says so, counts
// what it drops, and goes on by itself when it can.
package store
