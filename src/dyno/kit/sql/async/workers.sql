-- The part async: what runs a job.

-- Begins with SELECT, WITH, VALUES or TABLE, behind spaces, comments and brackets?
CREATE FUNCTION async.is_query(v_sql LONGTEXT) RETURNS TINYINT
DETERMINISTIC NO SQL
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

-- What follows runs in events only.
CREATE PROCEDURE async.only_events()
NO SQL
BEGIN
  IF USER() <> 'event_scheduler@localhost' THEN
    SIGNAL SQLSTATE '99995' SET MESSAGE_TEXT = 'only a worker of async may do this';
  END IF;
END $$

-- And what hands out rights, by the tables of this schema: whoever may execute everything and make
-- events, too, could have put temporary ones in their place; and so could a job.
CREATE PROCEDURE async.only_workers()
MODIFIES SQL DATA
BEGIN
  CALL async.only_events();
  DROP TEMPORARY TABLE IF EXISTS async.settings, async.account, async.q, async.needs,
    async.worker, async.boot;
END $$

-- What the job is that this connection runs for this account. Nobody else is told.
CREATE PROCEDURE async.text_of(IN v_q_id BIGINT UNSIGNED, IN v_account SMALLINT UNSIGNED,
                               OUT v_sql LONGTEXT, OUT v_is_query TINYINT)
MODIFIES SQL DATA
BEGIN
  CALL async.only_workers();
  SELECT MIN(sql_text) INTO v_sql FROM async.q WHERE q_id = v_q_id AND account = v_account
     AND state = 'RUNNING' AND connection_id = CONNECTION_ID();
  IF v_sql IS NULL THEN
    SIGNAL SQLSTATE '99998' SET MESSAGE_TEXT = 'this connection runs no such job';
  END IF;
  SET v_is_query = async.is_query(v_sql);
END $$

-- Takes the next job: one short statement, nothing is held while the job runs.
CREATE PROCEDURE async.claim(OUT v_job BIGINT UNSIGNED, OUT v_account SMALLINT UNSIGNED)
MODIFIES SQL DATA
BEGIN
  -- Two workers at the same row: one of them comes again.
  DECLARE CONTINUE HANDLER FOR 1213, 1205 SET v_job = NULL;
  CALL async.only_events();
  SET v_job = NULL;
  IF EXISTS (SELECT 1 FROM async.q WHERE state = 'QUEUED') THEN
    UPDATE async.q
       SET state = 'RUNNING', q_id = LAST_INSERT_ID(q_id), connection_id = CONNECTION_ID(),
           boot = (SELECT id FROM async.boot), started_on = UTC_TIMESTAMP(6)
     WHERE state = 'QUEUED' ORDER BY priority, q_id LIMIT 1;
    IF ROW_COUNT() = 1 THEN
      SET v_job = LAST_INSERT_ID();
      SELECT account INTO v_account FROM async.q WHERE q_id = v_job;
    END IF;
  END IF;
END $$

-- Has an event run, at once.
CREATE PROCEDURE async.wake(IN v_place SMALLINT UNSIGNED)
MODIFIES SQL DATA
BEGIN
  CALL async.only_events();
  SET @async_command = CONCAT('CALL async.wake_', v_place, '()');
  PREPARE async_command FROM @async_command;
  EXECUTE async_command;
  DEALLOCATE PREPARE async_command;
END $$

CREATE PROCEDURE async.work(IN v_place SMALLINT UNSIGNED)
MODIFIES SQL DATA
work: BEGIN
  DECLARE v_slot, v_slots, v_places SMALLINT UNSIGNED;
  DECLARE v_job BIGINT UNSIGNED;
  DECLARE v_account SMALLINT UNSIGNED;
  DECLARE v_pause DECIMAL(6,3) DEFAULT 0.002;
  DECLARE v_waited DECIMAL(9,3) DEFAULT 0;

  CALL async.only_events();
  SELECT MAX(IF(variable = 'thread_count', value + 0, 0)), MAX(IF(variable = 'places', value + 0, 0))
    INTO v_slots, v_places FROM async.settings;
  SET v_slot = (v_place - 1) MOD v_slots + 1;
  -- One worker to a slot; whoever finds it filled is one too many.
  UPDATE async.worker SET connection_id = CONNECTION_ID() WHERE slot = v_slot AND connection_id = 0;
  IF ROW_COUNT() = 0 THEN
    LEAVE work;
  END IF;

  CALL async.claim(v_job, v_account);
  WHILE v_job IS NULL AND v_waited < 600 AND v_slot <= v_slots DO
    DO SLEEP(v_pause);
    SET v_waited = v_waited + v_pause, v_pause = LEAST(v_pause * 1.5, 0.25);
    SET v_slots = (SELECT value + 0 FROM async.settings WHERE variable = 'thread_count');
    IF v_slot <= v_slots THEN
      CALL async.claim(v_job, v_account);
    END IF;
  END WHILE;
  IF v_job IS NOT NULL THEN
    CALL async.execute_job(v_job, v_account);
  END IF;

  -- The slot is free, and the next job gets a session that no job has touched.
  SET v_slots = (SELECT value + 0 FROM async.settings WHERE variable = 'thread_count');
  IF v_slot > v_slots THEN
    UPDATE async.worker SET connection_id = 0 WHERE slot = v_slot;
    LEAVE work;
  END IF;
  -- The next place of this slot, also where the number of workers has become another.
  SET v_place = v_place + v_slots - (v_place + v_slots - v_slot) MOD v_slots;
  IF v_place > v_places THEN
    SET v_place = v_slot;
    -- Once around in less than a second: its first event would not run.
    DO SLEEP((SELECT GREATEST(0, 1.1 - TIMESTAMPDIFF(MICROSECOND, lap_on, UTC_TIMESTAMP(6)) / 1e6)
              FROM async.worker WHERE slot = v_slot));
    UPDATE async.worker SET connection_id = 0, lap_on = UTC_TIMESTAMP(6) WHERE slot = v_slot;
  ELSE
    UPDATE async.worker SET connection_id = 0 WHERE slot = v_slot;
  END IF;
  CALL async.wake(v_place);
END $$

CREATE PROCEDURE async.execute_job(IN v_job BIGINT UNSIGNED, IN v_account SMALLINT UNSIGNED)
MODIFIES SQL DATA
BEGIN
  DECLARE v_sql_state CHAR(5) CHARACTER SET ascii;
  DECLARE v_errno INT UNSIGNED;
  DECLARE v_text TEXT;
  DECLARE v_rows BIGINT;
  DECLARE v_has_result TINYINT DEFAULT 0;
  BEGIN
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
      GET DIAGNOSTICS CONDITION 1
        v_sql_state = RETURNED_SQLSTATE, v_errno = MYSQL_ERRNO, v_text = MESSAGE_TEXT;
      ROLLBACK;
    END;
    SET @async_command = CONCAT('CALL async.run_', v_account, '(?, @async_rows, @async_kept)');
    SET @async_job = v_job, @async_rows = NULL, @async_kept = 0;
    PREPARE async_run FROM @async_command;
    EXECUTE async_run USING @async_job;
    SET v_rows = @async_rows;
    COMMIT;
    IF @async_kept THEN
      -- As the kit, since accounts may make nothing here that stays.
      SET @async_command = CONCAT('CREATE TABLE async_', v_account, '.rs_', v_job,
        ' ENGINE=InnoDB AS SELECT * FROM async_', v_account, '.kept_rows');
      PREPARE async_command FROM @async_command;
      EXECUTE async_command;
      DEALLOCATE PREPARE async_command;
      SET v_has_result = 1;
    END IF;
  END;
  SET SESSION autocommit = 1;
  CALL async.only_workers();
  -- A statement that was killed may not say so (SLEEP): whoever killed it did.
  UPDATE async.q
     SET state = CASE WHEN ending <> '' THEN ending WHEN v_sql_state IS NULL THEN 'SUCCEEDED'
                      ELSE 'FAILED' END,
         sql_state = v_sql_state, errno = v_errno, errmsg = v_text, row_count = v_rows,
         has_result = v_has_result, completed_on = UTC_TIMESTAMP(6)
   WHERE q_id = v_job AND state = 'RUNNING' AND connection_id = CONNECTION_ID();
  IF EXISTS (SELECT 1 FROM async.needs)
     OR EXISTS (SELECT 1 FROM async.q WHERE state = 'BLOCKED') THEN
    CALL async.follow();
  END IF;
END $$
