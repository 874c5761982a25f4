-- +goose Up

-- What was done with a call besides passing it on. Few calls have a row.
CREATE TABLE handling (
  call_id  INTEGER PRIMARY KEY REFERENCES call (id) ON DELETE CASCADE,
  cached   INTEGER NOT NULL, -- 1: answered from the cache
  approval TEXT NOT NULL     -- what a person said, '' when nobody was asked
) STRICT;

-- +goose Down

DROP TABLE handling;
