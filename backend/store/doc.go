// Package store persists calls, tool catalogs, usage statistics, trust records and metadata in one
// SQLite database. It is the only package that contains SQL.
//
// [Store] answers queries, with one type for each topic; [Recorder] writes calls. There is one connection for writing, which the
// Recorder uses in batches, and a pool of connections for reading. Times are microseconds since
// 1970 in UTC and durations are nanoseconds. The id of a call is its start time, made unique, so
// that ids are in chronological order.
//
// Calls never wait for the disk and never fail because of it: Recorder.Record copies the call into
// a bounded queue. While the disk cannot be written, the Recorder retries, counts the calls that
// it drops, and resumes when the disk works again.
//
// The names of most files begin with their topic:
//
//	store      the Store: open, close, transactions
//	db         the database file: schema, errors, backup, restore, maintenance
//	recorder   the Recorder: queue, batches, inserts, recording rules
//	payload    truncation of payloads, and moving older ones into blocks
//	query      queries for calls, clients, sessions and facets
//	search     the full-text index
//	stats      rollups and usage statistics
//	retention  deletion by age, size and number, and erasure
//
// Every other file contains one kind of data, such as notes, saved checks, tasks or catalogs, or one
// feature that several topics share, such as renaming a server or the size of results.
//
// The parts that need no database are packages: payload (compression), fulltext (the text that is
// indexed, and queries) and histogram. The others share the open file, the write lock and the
// counters of changes of a Store, so they are one package.
package store
