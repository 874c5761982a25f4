-- +goose Up

-- The progress notifications of a call, as a JSON array. Few calls have any.
CREATE TABLE progress_log (
  call_id       INTEGER PRIMARY KEY REFERENCES call (id) ON DELETE CASCADE,
  notifications TEXT NOT NULL
) STRICT;

-- When the first call was answered, in microseconds since 1970.
ALTER TABLE version ADD COLUMN first_at INTEGER NOT NULL DEFAULT 0;
UPDATE version SET first_at = first.at
  FROM (SELECT version_id AS id, min(at) AS at FROM call WHERE version_id IS NOT NULL GROUP BY version_id) AS first
  WHERE first.id = version.id;

-- +goose Down

ALTER TABLE version DROP COLUMN first_at;
DROP TABLE progress_log;
