-- +goose Up

-- Where a mistake of ours happened that ended a call. Hardly any call has a row.
CREATE TABLE stack (
  call_id INTEGER PRIMARY KEY REFERENCES call (id) ON DELETE CASCADE,
  text    TEXT NOT NULL
) STRICT;

-- +goose Down

DROP TABLE stack;
