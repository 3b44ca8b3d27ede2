-- The part history: what performance_schema counts, collected in the server. Statements end with $$.
--
-- Each table of performance_schema that counts since the server began has a table of the same name and columns
-- in ps_history (dyno kit makes them, and the procedure ps_history.take, of what the server has), with the time of the
-- collection (ts, UTC), when the server began (server_start), and row_key, by which a row is known from one collection to the next. All are
-- partitioned by ts alike, and what is too old goes by partitions. Nothing is written to the binary log after the installation.

CREATE DATABASE ps_history DEFAULT CHARACTER SET utf8mb4 $$

CREATE TABLE ps_history.psh_settings (
  variable VARCHAR(64) CHARACTER SET ascii NOT NULL PRIMARY KEY,
  value VARCHAR(64) NOT NULL
) ENGINE=InnoDB COMMENT 'dyno kit history' $$

INSERT IGNORE INTO ps_history.psh_settings VALUES
  ('interval', '30'), ('retention_period', '1 WEEK'), ('max_rows', '10000000') $$

-- Empty after each start of the server, which is how one start is told from another, whatever its clock does.
CREATE TABLE ps_history.psh_boot (
  one TINYINT NOT NULL PRIMARY KEY,
  server_start DATETIME NOT NULL
) ENGINE=MEMORY COMMENT 'dyno kit history' $$

CREATE TABLE ps_history.psh_collections (
  ts DATETIME(6) NOT NULL PRIMARY KEY,
  server_start DATETIME NOT NULL,
  previous_ts DATETIME(6) NULL COMMENT 'the collection before',
  row_count INT UNSIGNED NOT NULL,
  duration_ms INT UNSIGNED NOT NULL
) ENGINE=InnoDB COMMENT 'dyno kit history' {partitioned} $$

CREATE SQL SECURITY INVOKER VIEW ps_history.psh_last_refresh AS
SELECT MAX(ts) AS last_refreshed_at FROM ps_history.psh_collections $$
