-- The part async: jobs that run beside the session that queues them. Statements end with $$.
--
-- A job is a row of async.q. Workers are events, a session for each job: async.work claims one job
-- by one short UPDATE, calls async.run_N of the account that queued it (its definer is that account,
-- so the job has its rights and no more), writes down what became of it, and wakes an event for the
-- next one. An event that has run is not run again within the same second, so there is a ring of
-- them: each slot has every n-th place, n being the number of workers, and goes around its own.
-- async.tend, an event too, sees to what workers cannot: jobs whose session is gone, time limits,
-- wishes to cancel or forget, dependencies, old jobs, workers that died.
--
-- Who somebody is, no routine with another definer can tell. So an account N has a schema async_N,
-- where it may read its results and make temporary tables, and a view of its jobs, async_N.jobs,
-- which it may read and insert into. What it calls has its own rights (SQL SECURITY INVOKER): in its
-- session a temporary table can stand in the place of any table here, and what has the kit's rights
-- would do what that says. So all that has them begins with async.only_workers. dyno kit makes
-- async_N and run_N for each account, worker_N and wake_N for each place in the ring. All times are
-- UTC.

CREATE DATABASE async DEFAULT CHARACTER SET utf8mb4 $$

CREATE TABLE async.settings (
  variable VARCHAR(32) CHARACTER SET ascii NOT NULL PRIMARY KEY,
  value VARCHAR(64) NOT NULL
) ENGINE=InnoDB $$

CREATE TABLE async.account (
  id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  name VARCHAR(190) COLLATE utf8mb4_bin NOT NULL UNIQUE
) ENGINE=InnoDB $$

CREATE TABLE async.q (
  q_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  account SMALLINT UNSIGNED NOT NULL,
  state ENUM('QUEUED','BLOCKED','RUNNING','SUCCEEDED','FAILED','CANCELLED','TIMED_OUT','LOST')
    NOT NULL DEFAULT 'QUEUED',
  sql_text LONGTEXT NOT NULL,
  priority SMALLINT NOT NULL DEFAULT 0,
  after_list VARCHAR(1000) CHARACTER SET ascii NOT NULL DEFAULT '',
  timeout_s INT UNSIGNED NULL,
  keeps TINYINT NOT NULL DEFAULT 0,
  wanted ENUM('','CANCEL','FORGET') NOT NULL DEFAULT '',
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
  KEY next_one (state, priority, q_id),
  KEY wishes (wanted),
  KEY old_ones (completed_on)
) ENGINE=InnoDB $$

CREATE TABLE async.needs (
  job BIGINT UNSIGNED NOT NULL,
  needed BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (job, needed),
  KEY (needed)
) ENGINE=InnoDB $$

-- Who fills a slot, and when it came around to its first place; slot 0 is of who tends. Nothing of it outlives the server's
-- end, so it is written without a transaction; async.tend makes the rows.
CREATE TABLE async.worker (
  slot SMALLINT UNSIGNED NOT NULL PRIMARY KEY,
  connection_id BIGINT UNSIGNED NOT NULL DEFAULT 0,
  lap_on DATETIME(6) NOT NULL
) ENGINE=MEMORY $$

-- Empty after each start of the server, which is how one start is told from another: connections
-- are numbered from 1 again.
CREATE TABLE async.boot (
  one TINYINT NOT NULL PRIMARY KEY,
  id CHAR(36) CHARACTER SET ascii NOT NULL
) ENGINE=MEMORY $$

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

-- Whatever an account writes into its view, a job begins so.
CREATE TRIGGER async.before_a_job BEFORE INSERT ON async.q FOR EACH ROW
BEGIN
  SET NEW.state = IF(NEW.after_list = '', 'QUEUED', 'BLOCKED'), NEW.created_on = UTC_TIMESTAMP(6),
      NEW.wanted = '', NEW.started_on = NULL, NEW.completed_on = NULL, NEW.row_count = NULL,
      NEW.sql_state = NULL, NEW.errno = NULL, NEW.errmsg = NULL, NEW.connection_id = NULL,
      NEW.boot = NULL, NEW.ending = '', NEW.has_result = 0,
      NEW.keeps = async.is_query(NEW.sql_text);
  IF NEW.after_list NOT REGEXP '^([0-9]+(,[0-9]+)*)?$' THEN
    SIGNAL SQLSTATE '99998' SET MESSAGE_TEXT = 'the jobs to come after are numbers, as 3,5,8';
  END IF;
END $$

CREATE TRIGGER async.after_a_job AFTER INSERT ON async.q FOR EACH ROW
BEGIN
  DECLARE v_left VARCHAR(1000) DEFAULT NEW.after_list;
  DECLARE v_one BIGINT UNSIGNED;
  WHILE v_left <> '' DO
    SET v_one = SUBSTRING_INDEX(v_left, ',', 1);
    IF NOT EXISTS (SELECT 1 FROM async.q WHERE q_id = v_one AND account = NEW.account
                   AND q_id < NEW.q_id) THEN
      SIGNAL SQLSTATE '99998' SET MESSAGE_TEXT = 'Invalid QUERY_NUMBER among those to come after';
    END IF;
    INSERT IGNORE INTO async.needs (job, needed) VALUES (NEW.q_id, v_one);
    SET v_left = IF(LOCATE(',', v_left), SUBSTRING(v_left, LOCATE(',', v_left) + 1), '');
  END WHILE;
END $$
