-- The part async: what runs a job.

-- What follows runs in events only.
CREATE PROCEDURE async.only_events()
SQL SECURITY INVOKER NO SQL
BEGIN
  IF USER() <> 'event_scheduler@localhost' THEN
    SIGNAL SQLSTATE '99995' SET MESSAGE_TEXT = 'only a worker of async may do this';
  END IF;
END $$

-- And what hands out rights, by the tables of this schema: whoever may execute everything and make
-- events, too, could have put temporary ones in their place; and so could a job.
CREATE PROCEDURE async.only_workers()
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  CALL async.only_events();
  DROP TEMPORARY TABLE IF EXISTS async.settings, async.account, async.q, async.needs,
    async.worker, async.boot;
END $$

-- Whether the rows are kept of the job that this connection runs for this account; an error where it runs another or none.
CREATE PROCEDURE async.claimed(IN v_account SMALLINT UNSIGNED, IN v_job BIGINT UNSIGNED, OUT v_keeps TINYINT)
SQL SECURITY DEFINER MODIFIES SQL DATA
BEGIN
  CALL async.only_workers();
  SELECT MIN(keeps) INTO v_keeps FROM async.q WHERE account = v_account AND q_id = v_job
     AND state = 'RUNNING' AND connection_id = CONNECTION_ID() AND boot = (SELECT id FROM async.boot);
  IF v_keeps IS NULL THEN
    SIGNAL SQLSTATE '99998' SET MESSAGE_TEXT = 'this connection runs no such job';
  END IF;
END $$

-- The next job, NULL where there is none. It is found without locks, as rows that are not yet committed are an account's to hold;
-- then one short UPDATE by its key takes it, so nothing is held while it runs. Where another worker was faster, the next one.
CREATE PROCEDURE async.claim(OUT v_account SMALLINT UNSIGNED, OUT v_job BIGINT UNSIGNED)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  DECLARE v_taken INT DEFAULT 0;
  DECLARE CONTINUE HANDLER FOR 1213, 1205 SET v_taken = 0;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_job = NULL;
  REPEAT
    SET v_job = NULL;
    SELECT account, q_id INTO v_account, v_job FROM async.q
     WHERE state = 'QUEUED' ORDER BY priority, created_on, account, q_id LIMIT 1;
    IF v_job IS NOT NULL THEN
      UPDATE async.q
         SET state = 'RUNNING', connection_id = CONNECTION_ID(),
             boot = (SELECT id FROM async.boot), started_on = UTC_TIMESTAMP(6)
       WHERE account = v_account AND q_id = v_job AND state = 'QUEUED';
      SET v_taken = ROW_COUNT() = 1;
    END IF;
  UNTIL v_taken OR v_job IS NULL END REPEAT;
END $$

-- Fills a slot, and runs one job. A fresh session compiles all that it calls: so it calls little.
CREATE PROCEDURE async.work(IN v_place SMALLINT UNSIGNED)
SQL SECURITY INVOKER MODIFIES SQL DATA
work: BEGIN
  DECLARE v_slot, v_slots, v_places SMALLINT UNSIGNED;
  DECLARE v_job BIGINT UNSIGNED;
  DECLARE v_account SMALLINT UNSIGNED;
  DECLARE v_pause DECIMAL(6,3) DEFAULT 0.002;
  DECLARE v_waited DECIMAL(9,3) DEFAULT 0;

  CALL async.only_events();
  -- What a worker writes is seen at once, whatever the server has sessions begin with.
  SET SESSION autocommit = 1;
  SELECT MAX(IF(variable = 'thread_count', value + 0, 0)), MAX(IF(variable = 'places', value + 0, 0))
    INTO v_slots, v_places FROM async.settings;
  SET v_slot = (v_place - 1) MOD v_slots + 1;
  -- One worker to a slot; whoever finds it filled is one too many.
  UPDATE async.worker SET connection_id = CONNECTION_ID() WHERE slot = v_slot AND connection_id = 0;
  IF ROW_COUNT() = 0 THEN
    LEAVE work;
  END IF;

  claim: LOOP
    CALL async.claim(v_account, v_job);
    IF v_job IS NOT NULL THEN
      CALL async.execute_job(v_account, v_job);
      LEAVE claim;
    END IF;
    DO SLEEP(v_pause);
    SET v_waited = v_waited + v_pause, v_pause = LEAST(v_pause * 1.5, 0.25);
    IF v_waited > 600
       OR v_slot > (SELECT value + 0 FROM async.settings WHERE variable = 'thread_count') THEN
      LEAVE claim;
    END IF;
  END LOOP;
  CALL async.hand_over(v_place, v_slot, v_places);
END $$

-- Has an event run, at once.
CREATE PROCEDURE async.wake(IN v_place SMALLINT UNSIGNED)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  CALL async.only_events();
  SET @async_command = CONCAT('CALL async.wake_', v_place, '()');
  PREPARE async_command FROM @async_command;
  EXECUTE async_command;
  DEALLOCATE PREPARE async_command;
END $$

-- The slot is free, and the next job gets a session that no job has touched.
CREATE PROCEDURE async.hand_over(IN v_place SMALLINT UNSIGNED, IN v_slot SMALLINT UNSIGNED,
                                 IN v_places SMALLINT UNSIGNED)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  DECLARE v_slots SMALLINT UNSIGNED
    DEFAULT (SELECT value + 0 FROM async.settings WHERE variable = 'thread_count');
  CALL async.only_events();
  -- The next place of this slot, also where the number of workers has become another.
  SET v_place = v_place + v_slots - (v_place + v_slots - v_slot) MOD v_slots;
  IF v_slot <= v_slots AND v_place > v_places THEN
    SET v_place = v_slot;
    -- Once around in less than a second: its first event would not run.
    DO SLEEP((SELECT LEAST(1.1, GREATEST(0, 1.1 - TIMESTAMPDIFF(MICROSECOND, lap_on, UTC_TIMESTAMP(6)) / 1e6))
              FROM async.worker WHERE slot = v_slot));
    UPDATE async.worker SET lap_on = UTC_TIMESTAMP(6) WHERE slot = v_slot;
  END IF;
  UPDATE async.worker SET connection_id = 0 WHERE slot = v_slot;
  IF v_slot <= v_slots THEN
    CALL async.wake(v_place);
  END IF;
END $$

-- The rows that a job kept, of a temporary table, in one that stays.
CREATE PROCEDURE async.keep_rows(IN v_account SMALLINT UNSIGNED, IN v_job BIGINT UNSIGNED)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  -- With GTIDs, MySQL before 8.0.21 makes no table from rows.
  DECLARE EXIT HANDLER FOR 1786
  BEGIN
    SET @async_command = CONCAT('CREATE TABLE async_', v_account, '.rs_', v_job,
                                ' LIKE async_', v_account, '.kept_rows');
    PREPARE async_command FROM @async_command;
    EXECUTE async_command;
    SET @async_command = CONCAT('INSERT INTO async_', v_account, '.rs_', v_job,
                                ' SELECT * FROM async_', v_account, '.kept_rows');
    PREPARE async_command FROM @async_command;
    EXECUTE async_command;
    DEALLOCATE PREPARE async_command;
  END;
  CALL async.only_events();
  SET @async_command = CONCAT('CREATE TABLE async_', v_account, '.rs_', v_job,
                              ' ENGINE=InnoDB AS SELECT * FROM async_', v_account, '.kept_rows');
  PREPARE async_command FROM @async_command;
  EXECUTE async_command;
  DEALLOCATE PREPARE async_command;
END $$

-- An error where the account's results, with these rows, would be more than its quota. One counts as a hundred rows at least.
CREATE PROCEDURE async.check_quota(IN v_account SMALLINT UNSIGNED, IN v_rows BIGINT)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
  DECLARE v_text VARCHAR(128);
  DECLARE v_most, v_kept BIGINT;
  SET v_most = (SELECT value + 0 FROM async.settings WHERE variable = 'result_rows_max');
  SET v_kept = (SELECT IFNULL(SUM(GREATEST(row_count, 100)), 0) FROM async.q
                WHERE account = v_account AND has_result = 1) + GREATEST(v_rows, 100);
  IF v_kept > v_most THEN
    SET v_text = CONCAT('results of this account would be ', v_kept, ' rows, its quota is ', v_most,
                        ': forget some of them');
    SIGNAL SQLSTATE '99996' SET MESSAGE_TEXT = v_text;
  END IF;
END $$

-- What a job may have left to its session, and what comes after it must not have.
CREATE PROCEDURE async.clean_session()
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  SET SESSION TRANSACTION READ WRITE;
  CALL async.only_workers();
  SET SESSION autocommit = 1;
  SET SESSION timestamp = DEFAULT;
  SET SESSION innodb_lock_wait_timeout = 5;
END $$

CREATE PROCEDURE async.execute_job(IN v_account SMALLINT UNSIGNED, IN v_job BIGINT UNSIGNED)
SQL SECURITY INVOKER MODIFIES SQL DATA
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
      CALL async.clean_session();
      CALL async.check_quota(v_account, v_rows);
      -- As the kit, since accounts may make nothing here that stays.
      CALL async.keep_rows(v_account, v_job);
      SET v_has_result = 1;
    END IF;
  END;
  CALL async.clean_session();
  -- A statement that was killed may not say so (SLEEP): whoever killed it did.
  UPDATE async.q
     SET state = CASE WHEN ending <> '' THEN ending WHEN v_sql_state IS NULL THEN 'SUCCEEDED'
                      ELSE 'FAILED' END,
         sql_state = v_sql_state, errno = v_errno, errmsg = v_text, row_count = v_rows,
         has_result = v_has_result, completed_on = UTC_TIMESTAMP(6)
   WHERE account = v_account AND q_id = v_job AND state = 'RUNNING' AND connection_id = CONNECTION_ID();
  CALL async.follow(v_account);
END $$
