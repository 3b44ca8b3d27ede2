-- The part async: jobs that run beside the session that queues them. Statements end with $$.
--
-- A job is a row of async.q, made by a trigger of its account's inbox. Workers are events, a session for each job: async.work claims one
-- job by one short UPDATE, calls async.run_N of the account that queued it (its definer is that account,
-- so the job has its rights and no more), writes down what became of it, and wakes an event for the
-- next one. An event that has run is not run again within the same second, so there is a ring of
-- them: each slot has every n-th place, n being the number of workers, and goes around its own.
-- async.tend, an event too, sees to what workers cannot: jobs whose session is gone, time limits,
-- wishes to cancel, dependencies, workers that died. async.sweep drops what is to be forgotten.
--
-- Who somebody is, no routine with another definer can tell. So an account N has a schema async_N with its
-- inbox, its wishes, its results, and a number (pass) by which it is told of its jobs. What it calls has its own
-- rights (SQL SECURITY INVOKER); what has the installer's takes numbers only, and begins with
-- async.only_workers or asks for the pass: in a session a temporary table can stand in the place of any table here.
-- Nobody but the kit has rights on this schema's tables (but to read async.account), and what accounts may lock,
-- their own tables, is read without locks: so no transaction of an account's makes another one's jobs wait.
-- For that, what the kit changes it finds first, and changes by its primary key.
-- dyno kit makes async_N and its procedures for each account (queueing.py), worker_N and wake_N for each place in the ring. All times are UTC.

CREATE DATABASE async DEFAULT CHARACTER SET utf8mb4 $$

CREATE TABLE IF NOT EXISTS async.settings (
  variable VARCHAR(32) CHARACTER SET ascii NOT NULL PRIMARY KEY,
  value VARCHAR(64) NOT NULL
) ENGINE=InnoDB COMMENT 'dyno kit async' $$

INSERT IGNORE INTO async.settings VALUES ('thread_count', '{workers}'), ('thread_max', '{workers_max}'),
  ('places', '{places}'), ('retention_h', '{retention_h}'), ('result_rows_max', '{result_rows_max}') $$

CREATE TABLE IF NOT EXISTS async.account (
  id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  name VARCHAR(190) COLLATE utf8mb4_bin NOT NULL UNIQUE
) ENGINE=InnoDB COMMENT 'dyno kit async' $$

CREATE TABLE IF NOT EXISTS async.q (
  account SMALLINT UNSIGNED NOT NULL,
  q_id BIGINT UNSIGNED NOT NULL,
  state ENUM('QUEUED','BLOCKED','RUNNING','SUCCEEDED','FAILED','CANCELLED','TIMED_OUT','LOST')
    NOT NULL DEFAULT 'QUEUED',
  priority SMALLINT NOT NULL DEFAULT 0,
  timeout_s INT UNSIGNED NULL,
  keeps TINYINT NOT NULL DEFAULT 0,
  created_on DATETIME(6) NULL,
  started_on DATETIME(6) NULL,
  completed_on DATETIME(6) NULL,
  row_count BIGINT NULL,
  sql_state CHAR(5) CHARACTER SET ascii NULL,
  errno INT UNSIGNED NULL,
  errmsg TEXT NULL,
  connection_id BIGINT UNSIGNED NULL,
  boot CHAR(36) CHARACTER SET ascii NULL,
  ending ENUM('','CANCELLED','TIMED_OUT') NOT NULL DEFAULT '',
  has_result TINYINT NOT NULL DEFAULT 0,
  PRIMARY KEY (account, q_id),
  KEY next_job (state, priority, created_on, account, q_id),
  KEY waiting (account, state),
  KEY old_jobs (account, completed_on)
) ENGINE=InnoDB COMMENT 'dyno kit async' $$

CREATE TABLE IF NOT EXISTS async.needs (
  account SMALLINT UNSIGNED NOT NULL,
  job BIGINT UNSIGNED NOT NULL,
  needed BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (account, job, needed)
) ENGINE=InnoDB COMMENT 'dyno kit async' $$

-- Who fills a slot, and when it came around to its first place; slot 0 is of who tends, 65535 of who sweeps. Nothing of it outlives the server's
-- end, so it is written without a transaction; async.tend makes the rows.
CREATE TABLE IF NOT EXISTS async.worker (
  slot SMALLINT UNSIGNED NOT NULL PRIMARY KEY,
  connection_id BIGINT UNSIGNED NOT NULL DEFAULT 0,
  lap_on DATETIME(6) NOT NULL
) ENGINE=MEMORY COMMENT 'dyno kit async' $$

-- Empty after each start of the server, which is how one start is told from another: connections
-- are numbered from 1 again.
CREATE TABLE IF NOT EXISTS async.boot (
  one TINYINT NOT NULL PRIMARY KEY,
  id CHAR(36) CHARACTER SET ascii NOT NULL
) ENGINE=MEMORY COMMENT 'dyno kit async' $$

-- Begins with SELECT, WITH, VALUES or TABLE, behind spaces, comments and brackets?
CREATE FUNCTION async.is_query(v_sql LONGTEXT) RETURNS TINYINT
SQL SECURITY INVOKER DETERMINISTIC NO SQL
BEGIN
  DECLARE v_at, v_end BIGINT DEFAULT 1;
  DECLARE v_two VARCHAR(2);
  WHILE v_at <= CHAR_LENGTH(v_sql) DO
    SET v_two = SUBSTRING(v_sql, v_at, 2), v_end = 0;
    IF LEFT(v_two, 1) IN (' ', '\t', '\n', '\r', '(') THEN
      SET v_end = v_at + 1;
    ELSEIF v_two = '/*' AND SUBSTRING(v_sql, v_at, 3) <> '/*!' THEN
      SET v_end = LOCATE('*/', v_sql, v_at + 2) + 2;
    ELSEIF v_two = '--' OR LEFT(v_two, 1) = '#' THEN
      SET v_end = LOCATE('\n', v_sql, v_at) + 1;
    END IF;
    IF v_end <= v_at THEN
      -- What goes INTO somewhere has no rows to keep, and MySQL 8.0 would forget the INTO.
      RETURN CONCAT(LOWER(SUBSTRING(v_sql, v_at, 7)), ' ')
             REGEXP '^(select|with|values|table)[^a-z0-9_$]'
         AND LOWER(v_sql) NOT REGEXP '[[:space:]]into[[:space:]]+(@|outfile|dumpfile)';
    END IF;
    SET v_at = v_end;
  END WHILE;
  RETURN 0;
END $$
