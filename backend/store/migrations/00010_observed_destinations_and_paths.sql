-- +goose Up

-- Where the processes of a server connect to.
CREATE TABLE destination (
  server   TEXT NOT NULL,
  protocol TEXT NOT NULL, -- tcp or udp
  host     TEXT NOT NULL, -- name if known, otherwise the address
  port     INTEGER NOT NULL,
  address  TEXT NOT NULL, -- the latest one
  first_at INTEGER NOT NULL,
  last_at  INTEGER NOT NULL,
  PRIMARY KEY (server, protocol, host, port)
) STRICT, WITHOUT ROWID;

-- What servers whose sandbox is observed open.
CREATE TABLE observed_path (
  server   TEXT NOT NULL,
  path     TEXT NOT NULL,
  written  INTEGER NOT NULL, -- 1 if it was opened for writing
  first_at INTEGER NOT NULL,
  last_at  INTEGER NOT NULL,
  PRIMARY KEY (server, path)
) STRICT, WITHOUT ROWID;

-- +goose Down

DROP TABLE observed_path;
DROP TABLE destination;
