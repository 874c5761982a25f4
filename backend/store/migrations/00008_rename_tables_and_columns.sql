-- +goose Up

ALTER TABLE fact RENAME TO metadata;
UPDATE metadata SET key = 'clock_skew' WHERE key = 'aging';
UPDATE metadata SET key = 'late_calls' WHERE key = 'moved';

ALTER TABLE pack RENAME TO payload_block;
ALTER TABLE handling RENAME TO call_attributes;
ALTER TABLE stack RENAME TO stack_trace;

ALTER TABLE server RENAME COLUMN renamed TO current_name;

ALTER TABLE trust RENAME COLUMN late TO added_later;
ALTER TABLE trust RENAME COLUMN earlier TO previous_hashes;
ALTER TABLE trust RENAME COLUMN waiting_at TO pending_at;
ALTER TABLE trust RENAME COLUMN waiting_hash TO pending_hash;
ALTER TABLE trust RENAME COLUMN waiting_enc TO pending_enc;
ALTER TABLE trust RENAME COLUMN waiting TO pending_definition;
ALTER TABLE trust_event RENAME COLUMN what TO action;

-- +goose Down

ALTER TABLE trust_event RENAME COLUMN action TO what;
ALTER TABLE trust RENAME COLUMN pending_definition TO waiting;
ALTER TABLE trust RENAME COLUMN pending_enc TO waiting_enc;
ALTER TABLE trust RENAME COLUMN pending_hash TO waiting_hash;
ALTER TABLE trust RENAME COLUMN pending_at TO waiting_at;
ALTER TABLE trust RENAME COLUMN previous_hashes TO earlier;
ALTER TABLE trust RENAME COLUMN added_later TO late;

ALTER TABLE server RENAME COLUMN current_name TO renamed;

ALTER TABLE stack_trace RENAME TO stack;
ALTER TABLE call_attributes RENAME TO handling;
ALTER TABLE payload_block RENAME TO pack;

UPDATE metadata SET key = 'moved' WHERE key = 'late_calls';
UPDATE metadata SET key = 'aging' WHERE key = 'clock_skew';
ALTER TABLE metadata RENAME TO fact;
