-- +goose Up

-- Payloads of many older calls, packed together. body.arguments says where in it a call's
-- are, when body.arguments_enc is 3. Ids are never used again.
CREATE TABLE pack (
  id    INTEGER PRIMARY KEY AUTOINCREMENT,
  calls INTEGER NOT NULL, -- that refer to it
  data  BLOB NOT NULL     -- zstd
) STRICT;

-- What a server is called now, when it was renamed: several rows may then stand for one
-- server. name stays, because search knows the calls by it.
ALTER TABLE server ADD COLUMN renamed TEXT;

-- +goose Down

ALTER TABLE server DROP COLUMN renamed;
DROP TABLE pack;
