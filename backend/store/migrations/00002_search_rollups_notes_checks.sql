-- +goose Up

-- The folder that a client worked in.
CREATE TABLE workspace (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

ALTER TABLE call ADD COLUMN workspace_id INTEGER REFERENCES workspace (id);

CREATE INDEX call_by_session ON call (session_id, id) WHERE session_id IS NOT NULL;

-- The words of names, reasons, arguments and replies. It keeps no text and no places of
-- words, so what is taken out must be named as it was put in: a change of how words are
-- made needs a migration that empties this table and fills pending.
CREATE VIRTUAL TABLE search USING fts5 (words, content = '', detail = none, columnsize = 0, tokenize = 'unicode61 remove_diacritics 0');

-- Calls that search does not know yet.
CREATE TABLE pending (
  id      INTEGER PRIMARY KEY REFERENCES call (id) ON DELETE CASCADE,
  counted INTEGER NOT NULL -- 1: rollup has it
) STRICT;

INSERT INTO pending (id, counted) SELECT id, 0 FROM call;

-- Sums over a minute, an hour or a day (UTC), so that no question of counts or
-- percentiles walks the calls.
CREATE TABLE rollup (
  span      INTEGER NOT NULL, -- seconds: 60, 3600, 86400
  at        INTEGER NOT NULL, -- seconds since 1970, where the span begins
  target_id INTEGER NOT NULL REFERENCES target (id),
  client_id INTEGER NOT NULL REFERENCES client (id),
  outcomes  BLOB NOT NULL,    -- six varints: calls by outcome, from ok to rejected
  took_ns   INTEGER NOT NULL, -- sum
  last_at   INTEGER NOT NULL, -- microseconds since 1970: the newest call
  bins      BLOB NOT NULL,    -- durations: pairs of varints, distance to the bin before and its count
  PRIMARY KEY (span, at, target_id, client_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE note (
  call_id  INTEGER PRIMARY KEY REFERENCES call (id) ON DELETE CASCADE,
  title    TEXT NOT NULL,
  text     TEXT NOT NULL,
  saved_at INTEGER NOT NULL
) STRICT;

CREATE TABLE tag (
  call_id INTEGER NOT NULL REFERENCES call (id) ON DELETE CASCADE,
  name    TEXT NOT NULL,
  PRIMARY KEY (call_id, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX tag_by_name ON tag (name, call_id);

-- A named set of calls with what is expected of them.
CREATE TABLE saved_check (
  name     TEXT PRIMARY KEY,
  saved_at INTEGER NOT NULL,
  document BLOB NOT NULL
) STRICT;

-- +goose Down

DROP TABLE saved_check;
DROP TABLE tag;
DROP TABLE note;
DROP TABLE rollup;
DROP TABLE pending;
DROP TABLE search;
DROP INDEX call_by_session;
ALTER TABLE call DROP COLUMN workspace_id;
DROP TABLE workspace;
