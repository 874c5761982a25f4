-- +goose Up

-- The task that a call created. It is the state of the call after its first reply.
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

-- The call whose task the request is about; NULL for calls of their own. It is not declared as a
-- reference, because the request may outlive the call.
ALTER TABLE call ADD COLUMN task_call_id INTEGER;

CREATE INDEX task_request_by_call ON call (task_call_id) WHERE task_call_id IS NOT NULL;
CREATE INDEX task_request_by_client ON call (client_id) WHERE task_call_id IS NOT NULL;

-- +goose Down

DROP INDEX task_request_by_client;
DROP INDEX task_request_by_call;
ALTER TABLE call DROP COLUMN task_call_id;
DROP TABLE task;
