-- +goose Up

-- Pages of calls that match a filter which few calls match. The first two have the columns that other
-- filters compare, so that calls which do not match are not read.
DROP INDEX call_failed;
CREATE INDEX call_failed ON call (outcome, id, task_call_id, server_id, target_id, client_id, version_id, workspace_id, took_ns) WHERE outcome <> 1;
CREATE INDEX call_slow ON call (id, took_ns, task_call_id, outcome, server_id, target_id, client_id) WHERE took_ns >= 100000000;
CREATE INDEX call_by_version ON call (version_id, id) WHERE version_id IS NOT NULL;
CREATE INDEX call_by_workspace ON call (workspace_id, id) WHERE workspace_id IS NOT NULL;
CREATE INDEX call_by_account ON call (account_id, id) WHERE account_id IS NOT NULL;

-- +goose Down

DROP INDEX call_by_account;
DROP INDEX call_by_workspace;
DROP INDEX call_by_version;
DROP INDEX call_slow;
DROP INDEX call_failed;
CREATE INDEX call_failed ON call (id) WHERE outcome <> 1;
