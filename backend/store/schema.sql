-- The tables of a history. Columns whose names end in _at are microseconds since 1970.

CREATE TABLE server (
  id           INTEGER PRIMARY KEY,
  name         TEXT NOT NULL UNIQUE,
  current_name TEXT                  -- NULL: name is the current one
) STRICT;

CREATE TABLE client (
  id      INTEGER PRIMARY KEY,
  token   TEXT NOT NULL, -- the name under which the token was issued
  name    TEXT NOT NULL, -- as claimed
  version TEXT NOT NULL,
  UNIQUE (token, name, version)
) STRICT;

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

CREATE TABLE workspace (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE account (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE version (
  id         INTEGER PRIMARY KEY,
  server_id  INTEGER NOT NULL REFERENCES server (id) ON DELETE CASCADE,
  name       TEXT NOT NULL, -- as the server reported it in the handshake
  version    TEXT NOT NULL, -- the same
  package    TEXT NOT NULL, -- with its version, or the image; '' if unknown
  definition BLOB NOT NULL, -- hash of the definition of the tool; empty if there is none
  first_at   INTEGER NOT NULL DEFAULT 0,
  UNIQUE (server_id, definition, package, name, version)
) STRICT;

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
  progress    INTEGER NOT NULL,
  workspace_id INTEGER REFERENCES workspace (id),
  version_id   INTEGER,
  account_id   INTEGER,
  task_call_id INTEGER               -- the call whose task this request is about
) STRICT;
CREATE INDEX call_by_server ON call (server_id, id);
CREATE INDEX call_by_target ON call (target_id, id);
CREATE INDEX call_by_client ON call (client_id, id);
CREATE INDEX call_by_session ON call (session_id, id) WHERE session_id IS NOT NULL;
CREATE INDEX task_request_by_call ON call (task_call_id) WHERE task_call_id IS NOT NULL;
CREATE INDEX task_request_by_client ON call (client_id) WHERE task_call_id IS NOT NULL;
CREATE INDEX call_failed ON call (outcome, id, task_call_id, server_id, target_id, client_id, version_id, workspace_id, took_ns) WHERE outcome <> 1;
CREATE INDEX call_slow ON call (id, took_ns, task_call_id, outcome, server_id, target_id, client_id) WHERE took_ns >= 100000000;
CREATE INDEX call_by_version ON call (version_id, id) WHERE version_id IS NOT NULL;
CREATE INDEX call_by_workspace ON call (workspace_id, id) WHERE workspace_id IS NOT NULL;
CREATE INDEX call_by_account ON call (account_id, id) WHERE account_id IS NOT NULL;

CREATE TABLE body (
  id             INTEGER PRIMARY KEY REFERENCES call (id) ON DELETE CASCADE,
  public_name    TEXT NOT NULL,
  instance       TEXT NOT NULL,
  trace_id       TEXT NOT NULL,
  shim           TEXT NOT NULL,
  reason         TEXT NOT NULL,
  reply_is_error INTEGER NOT NULL,
  arguments_enc  INTEGER NOT NULL, -- see the package payload
  reply_enc      INTEGER NOT NULL,
  arguments_size INTEGER,          -- full size in bytes, when it was cut
  arguments_hash BLOB,             -- SHA-256 of the whole, when it was cut
  reply_size     INTEGER,
  reply_hash     BLOB,
  arguments      BLOB,
  reply          BLOB
) STRICT;

CREATE TABLE pending (
  id      INTEGER PRIMARY KEY REFERENCES call (id) ON DELETE CASCADE,
  counted INTEGER NOT NULL -- 1: rollup has it
) STRICT;

CREATE VIRTUAL TABLE search USING fts5 (words, content = '', detail = none, columnsize = 0, tokenize = 'unicode61 remove_diacritics 0');

CREATE TABLE call_attributes (
  call_id  INTEGER PRIMARY KEY REFERENCES call (id) ON DELETE CASCADE,
  cached   INTEGER NOT NULL, -- 1: answered from the cache
  approval TEXT NOT NULL     -- what a person said, '' when nobody was asked
) STRICT;

CREATE TABLE verdict (
  call_id INTEGER PRIMARY KEY REFERENCES call (id) ON DELETE CASCADE,
  level   INTEGER NOT NULL, -- 1 warn, 2 error
  problem TEXT NOT NULL
) STRICT;

CREATE TABLE stack_trace (
  call_id INTEGER PRIMARY KEY REFERENCES call (id) ON DELETE CASCADE,
  text    TEXT NOT NULL
) STRICT;

CREATE TABLE progress_log (
  call_id       INTEGER PRIMARY KEY REFERENCES call (id) ON DELETE CASCADE,
  notifications TEXT NOT NULL
) STRICT;

CREATE TABLE task (
  call_id    INTEGER PRIMARY KEY REFERENCES call (id) ON DELETE CASCADE,
  task_id    TEXT NOT NULL,    -- as the server knows it
  status     TEXT NOT NULL,    -- as the client last saw it
  reason     TEXT NOT NULL,    -- why the call failed, '' if it did not
  ttl_ms     INTEGER,          -- NULL: not limited
  updated_at INTEGER NOT NULL, -- microseconds since 1970: the end of the last recorded request
  ended      INTEGER NOT NULL,
  result_id  INTEGER           -- the request whose reply has the result; NULL: none yet
) STRICT;
CREATE INDEX task_by_update ON task (updated_at);

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

CREATE TABLE payload_block (
  id    INTEGER PRIMARY KEY AUTOINCREMENT,
  calls INTEGER NOT NULL, -- that refer to it
  data  BLOB NOT NULL     -- zstd
) STRICT;

CREATE TABLE rollup (
  span      INTEGER NOT NULL, -- seconds: 60, 3600, 86400
  at        INTEGER NOT NULL, -- seconds since 1970, where the span begins
  target_id INTEGER NOT NULL REFERENCES target (id),
  client_id INTEGER NOT NULL REFERENCES client (id),
  outcomes  BLOB NOT NULL,    -- varints: calls by outcome, from ok to rejected, and those that did not reach their server
  took_ns   INTEGER NOT NULL, -- sum
  last_at   INTEGER NOT NULL, -- microseconds since 1970: the newest call
  bins      BLOB NOT NULL,    -- durations: pairs of varints, distance to the bin before and its count
  result_bytes   INTEGER NOT NULL DEFAULT 0,
  repeated_bytes INTEGER NOT NULL DEFAULT 0,
  blank_bytes    INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (span, at, target_id, client_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE saved_check (
  name     TEXT PRIMARY KEY,
  saved_at INTEGER NOT NULL,
  document BLOB NOT NULL
) STRICT;

CREATE TABLE catalog (
  server   TEXT PRIMARY KEY,
  key      TEXT NOT NULL, -- changes with what is started
  saved_at INTEGER NOT NULL,
  catalog  BLOB NOT NULL
) STRICT;

CREATE TABLE metadata (
  key      TEXT PRIMARY KEY,
  value    BLOB NOT NULL,
  saved_at INTEGER NOT NULL
) STRICT;

CREATE TABLE trust (
  server         TEXT NOT NULL,
  kind           TEXT NOT NULL,    -- 'tool', 'instructions' or 'server'
  name           TEXT NOT NULL,    -- of a tool; '' of the others
  first_at       INTEGER NOT NULL, -- microseconds since 1970
  added_later    INTEGER NOT NULL, -- 1: it came when the server was known already
  hash           BLOB NOT NULL,    -- of the definition that is trusted
  previous_hashes BLOB NOT NULL,   -- hashes that were trusted before, one after the other
  always         INTEGER NOT NULL, -- 1: every change is accepted
  blocked        INTEGER NOT NULL, -- 1: a person wants it hidden until further notice
  definition_enc INTEGER NOT NULL,
  definition     BLOB,
  pending_at     INTEGER,          -- NULL: nothing waits for a person
  pending_hash   BLOB,
  pending_enc    INTEGER,
  pending_definition BLOB,
  PRIMARY KEY (server, kind, name)
) STRICT;

CREATE TABLE trust_event (
  id       INTEGER PRIMARY KEY,
  at       INTEGER NOT NULL, -- microseconds since 1970
  server   TEXT NOT NULL,
  kind     TEXT NOT NULL,
  name     TEXT NOT NULL,
  action   TEXT NOT NULL,    -- 'new', 'changed', 'accepted', 'blocked', 'returned', 'warned', ...
  detail   TEXT NOT NULL,
  old_hash BLOB,
  new_hash BLOB
) STRICT;
CREATE INDEX trust_event_by_server ON trust_event (server, id);

CREATE TABLE destination (
  server   TEXT NOT NULL,
  protocol TEXT NOT NULL, -- tcp or udp
  host     TEXT NOT NULL, -- name if known, otherwise the address
  port     INTEGER NOT NULL,
  address  TEXT NOT NULL, -- the latest one
  first_at INTEGER NOT NULL,
  last_at  INTEGER NOT NULL,
  PRIMARY KEY (server, protocol, host, port)
) STRICT, WITHOUT ROWID;
