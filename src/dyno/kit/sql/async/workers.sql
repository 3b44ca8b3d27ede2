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

-- What the job is that this connection runs for this account. Nobody else is told.
CREATE PROCEDURE async.text_of(IN v_q_id BIGINT UNSIGNED, IN v_account SMALLINT UNSIGNED,
                               OUT v_sql LONGTEXT, OUT v_keeps TINYINT)
SQL SECURITY DEFINER MODIFIES SQL DATA
BEGIN
  CALL async.only_workers();
  SELECT MIN(sql_text), MIN(keeps) INTO v_sql, v_keeps FROM async.q
   WHERE q_id = v_q_id AND account = v_account AND state = 'RUNNING' AND connection_id = CONNECTION_ID();
  IF v_sql IS NULL THEN
    SIGNAL SQLSTATE '99998' SET MESSAGE_TEXT = 'this connection runs no such job';
  END IF;
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
    IF EXISTS (SELECT 1 FROM async.q WHERE state = 'QUEUED') THEN
      BEGIN
        -- Two workers at the same row: one of them comes again.
        DECLARE CONTINUE HANDLER FOR 1213, 1205 BEGIN END;
        -- One short statement: nothing is held while the job runs.
        UPDATE async.q
           SET state = 'RUNNING', q_id = LAST_INSERT_ID(q_id), connection_id = CONNECTION_ID(),
               boot = (SELECT id FROM async.boot), started_on = UTC_TIMESTAMP(6)
         WHERE state = 'QUEUED' ORDER BY priority, q_id LIMIT 1;
        IF ROW_COUNT() = 1 THEN
          SET v_job = LAST_INSERT_ID();
        END IF;
      END;
    END IF;
    IF v_job IS NOT NULL THEN
      SELECT account INTO v_account FROM async.q WHERE q_id = v_job;
      CALL async.execute_job(v_job, v_account);
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
    DO SLEEP((SELECT GREATEST(0, 1.1 - TIMESTAMPDIFF(MICROSECOND, lap_on, UTC_TIMESTAMP(6)) / 1e6)
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

CREATE PROCEDURE async.execute_job(IN v_job BIGINT UNSIGNED, IN v_account SMALLINT UNSIGNED)
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
      -- As the kit, since accounts may make nothing here that stays.
      CALL async.keep_rows(v_account, v_job);
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
