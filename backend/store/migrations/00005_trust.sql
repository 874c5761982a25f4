-- +goose Up

-- What is trusted of each server: its tools, its instructions, and how it is started.
-- A row stays when the server is down or lists less.
CREATE TABLE trust (
  server         TEXT NOT NULL,
  kind           TEXT NOT NULL,    -- 'tool', 'instructions' or 'server'
  name           TEXT NOT NULL,    -- of a tool; '' of the others
  first_at       INTEGER NOT NULL, -- microseconds since 1970
  late           INTEGER NOT NULL, -- 1: it came when the server was known already
  hash           BLOB NOT NULL,    -- of the definition that is trusted
  earlier        BLOB NOT NULL,    -- hashes that were trusted before, one after the other
  always         INTEGER NOT NULL, -- 1: every change is accepted
  blocked        INTEGER NOT NULL, -- 1: a person wants it hidden until further notice
  definition_enc INTEGER NOT NULL,
  definition     BLOB,
  waiting_at     INTEGER,          -- NULL: nothing waits for a person
  waiting_hash   BLOB,
  waiting_enc    INTEGER,
  waiting        BLOB,
  PRIMARY KEY (server, kind, name)
) STRICT;

-- What happened to definitions, so that it can be told later.
CREATE TABLE trust_event (
  id       INTEGER PRIMARY KEY,
  at       INTEGER NOT NULL, -- microseconds since 1970
  server   TEXT NOT NULL,
  kind     TEXT NOT NULL,
  name     TEXT NOT NULL,
  what     TEXT NOT NULL,    -- 'new', 'changed', 'accepted', 'blocked', 'returned', 'warned', ...
  detail   TEXT NOT NULL,
  old_hash BLOB,
  new_hash BLOB
) STRICT;

CREATE INDEX trust_event_by_server ON trust_event (server, id);

-- +goose Down

DROP TABLE trust_event;
DROP TABLE trust;
