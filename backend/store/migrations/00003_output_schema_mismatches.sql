-- +goose Up

-- What of a result does not fit the schema that its tool promised.
CREATE TABLE verdict (
  call_id INTEGER PRIMARY KEY REFERENCES call (id) ON DELETE CASCADE,
  level   INTEGER NOT NULL, -- 1 warn, 2 error
  problem TEXT NOT NULL
) STRICT;

-- +goose Down

DROP TABLE verdict;
