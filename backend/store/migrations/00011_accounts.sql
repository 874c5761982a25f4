-- +goose Up

-- The accounts of servers that calls used.
CREATE TABLE account (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

-- NULL for calls to servers without accounts. It is not declared as a reference, because deleting a
-- row of account would search all calls for it.
ALTER TABLE call ADD COLUMN account_id INTEGER;

-- +goose Down

ALTER TABLE call DROP COLUMN account_id;
DROP TABLE account;
