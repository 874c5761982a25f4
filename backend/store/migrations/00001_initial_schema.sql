-- +goose Up

CREATE TABLE server (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE client (
  id      INTEGER PRIMARY KEY,
  token   TEXT NOT NULL, -- the name under which the token was issued
  name    TEXT NOT NULL, -- as claimed
  version TEXT NOT NULL,
  UNIQUE (token, name, version)
) STRICT;

-- What is called: a tool, a prompt, a resource.
CREATE TABLE target (
  id        INTEGER PRIMARY KEY,
  server_id INTEGER NOT NULL REFERENCES server (id),
  method    TEXT NOT NULL,
  name      TEXT NOT NULL,
  UNIQUE (server_id, method, name)
) STRICT;

CREATE TABLE session (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

-- Narrow on purpose: filters and counts walk this table and never the bodies.
CREATE TABLE call (
  id          INTEGER PRIMARY KEY, -- microseconds since 1970, made distinct
  at          INTEGER NOT NULL,    -- microseconds since 1970
  server_id   INTEGER NOT NULL REFERENCES server (id),
  target_id   INTEGER NOT NULL REFERENCES target (id),
  client_id   INTEGER NOT NULL REFERENCES client (id),
  session_id  INTEGER REFERENCES session (id),
  modern      INTEGER NOT NULL,    -- 1: modern era
  from_server INTEGER NOT NULL,
  outcome     INTEGER NOT NULL,    -- 1 ok, 2 tool_error, 3 protocol_error, 4 timeout, 5 cancelled, 6 rejected
  code        TEXT NOT NULL,
  took_ns     INTEGER NOT NULL,
  queued_ns   INTEGER NOT NULL,
  bytes_in    INTEGER NOT NULL,
  bytes_out   INTEGER NOT NULL,
  attempts    INTEGER NOT NULL,
  progress    INTEGER NOT NULL
) STRICT;

CREATE INDEX call_by_server ON call (server_id, id);
CREATE INDEX call_by_target ON call (target_id, id);
CREATE INDEX call_by_client ON call (client_id, id);
CREATE INDEX call_failed ON call (id) WHERE outcome <> 1;

-- Short columns first: a list reads them without following a long payload.
CREATE TABLE body (
  id             INTEGER PRIMARY KEY REFERENCES call (id) ON DELETE CASCADE,
  public_name    TEXT NOT NULL,
  instance       TEXT NOT NULL,
  trace_id       TEXT NOT NULL,
  shim           TEXT NOT NULL,
  reason         TEXT NOT NULL,
  reply_is_error INTEGER NOT NULL,
  arguments_enc  INTEGER NOT NULL, -- 0 as it is, 1 deflate
  reply_enc      INTEGER NOT NULL,
  arguments_size INTEGER,          -- full size in bytes, when it was cut
  arguments_hash BLOB,             -- SHA-256 of the whole, when it was cut
  reply_size     INTEGER,
  reply_hash     BLOB,
  arguments      BLOB,
  reply          BLOB
) STRICT;

CREATE TABLE catalog (
  server   TEXT PRIMARY KEY,
  key      TEXT NOT NULL, -- changes with what is started
  saved_at INTEGER NOT NULL,
  catalog  BLOB NOT NULL
) STRICT;

CREATE TABLE fact (
  key      TEXT PRIMARY KEY,
  value    BLOB NOT NULL,
  saved_at INTEGER NOT NULL
) STRICT;

-- +goose Down

DROP TABLE fact;
DROP TABLE catalog;
DROP TABLE body;
DROP TABLE call;
DROP TABLE session;
DROP TABLE target;
DROP TABLE client;
DROP TABLE server;
