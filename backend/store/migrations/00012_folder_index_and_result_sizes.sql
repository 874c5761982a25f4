-- +goose Up

-- Which targets were called from a folder. Queries step from target to target; none walks the calls.
CREATE INDEX call_by_folder ON call (workspace_id, target_id, id) WHERE workspace_id IS NOT NULL;

-- Sums of the sizes of results, since this version: in total, of text that repeats structuredContent,
-- and of white space between JSON tokens or in text.
ALTER TABLE rollup ADD COLUMN result_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup ADD COLUMN repeated_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup ADD COLUMN blank_bytes INTEGER NOT NULL DEFAULT 0;

-- +goose Down

ALTER TABLE rollup DROP COLUMN blank_bytes;
ALTER TABLE rollup DROP COLUMN repeated_bytes;
ALTER TABLE rollup DROP COLUMN result_bytes;
DROP INDEX call_by_folder;
