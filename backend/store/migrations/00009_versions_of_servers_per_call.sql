-- +goose Up

-- What answered a call: the server and the definition of the tool.
CREATE TABLE version (
  id         INTEGER PRIMARY KEY,
  server_id  INTEGER NOT NULL REFERENCES server (id) ON DELETE CASCADE,
  name       TEXT NOT NULL, -- as the server reported it in the handshake
  version    TEXT NOT NULL, -- the same
  package    TEXT NOT NULL, -- with its version, or the image; '' if unknown
  definition BLOB NOT NULL, -- hash of the definition of the tool; empty if there is none
  UNIQUE (server_id, definition, package, name, version)
) STRICT;

-- NULL for calls that no server answered, and for those of earlier programs. It is not declared as a
-- reference, because deleting a row of version would search all calls for it.
ALTER TABLE call ADD COLUMN version_id INTEGER;

-- +goose Down

ALTER TABLE call DROP COLUMN version_id;
DROP TABLE version;
