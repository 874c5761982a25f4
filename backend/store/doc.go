// Package store persists calls, catalogs, statistics, trust records and metadata in one SQLite file.
// It is the only package that contains SQL.
//
// [Store] answers queries; [Recorder] writes calls. One connection writes and belongs to the Recorder
// while it runs; a few others read. Times are microseconds since 1970 in UTC, durations are
// nanoseconds, and the id of a call is its time made unique, so that ids are in order of time.
// Calls never wait for the disk and never fail because of it: Recorder.Record copies the call into a
// bounded queue. A Recorder that cannot write counts what it drops and resumes by itself.
package store
