-- The part async: what workers cannot see to.

-- A job that waits fails where one that it comes after did not succeed, or is not there.
CREATE PROCEDURE async.fail_followers(IN v_account SMALLINT UNSIGNED, OUT v_changed INT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  DECLARE v_job, v_needed BIGINT UNSIGNED;
  DECLARE v_state VARCHAR(20);
  DECLARE v_done INT DEFAULT 0;
  DECLARE v_jobs CURSOR FOR
    SELECT n.job, n.needed, IF(b.q_id < n.job, CONCAT(b.state), 'not there')
      FROM async.q AS j JOIN async.needs AS n ON n.account = j.account AND n.job = j.q_id
      LEFT JOIN async.q AS b ON b.account = n.account AND b.q_id = n.needed
     WHERE j.account = v_account AND j.state = 'BLOCKED'
       AND (b.q_id IS NULL OR b.q_id >= n.job OR b.state IN ('FAILED', 'CANCELLED', 'TIMED_OUT', 'LOST'));
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
  SET v_changed = 0;
  OPEN v_jobs;
  FETCH v_jobs INTO v_job, v_needed, v_state;
  WHILE NOT v_done DO
    UPDATE async.q
       SET state = 'FAILED', sql_state = '99990', completed_on = UTC_TIMESTAMP(6),
           errmsg = CONCAT('job ', v_needed, ', which it comes after, is ', v_state)
     WHERE account = v_account AND q_id = v_job AND state = 'BLOCKED';
    SET v_changed = v_changed + ROW_COUNT(), v_done = 0;
    FETCH v_jobs INTO v_job, v_needed, v_state;
  END WHILE;
  CLOSE v_jobs;
END $$

-- What a job comes after and has succeeded it waits for no more.
CREATE PROCEDURE async.drop_needs(IN v_account SMALLINT UNSIGNED)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  DECLARE v_job, v_needed BIGINT UNSIGNED;
  DECLARE v_done INT DEFAULT 0;
  DECLARE v_needs CURSOR FOR
    SELECT n.job, n.needed
      FROM async.needs AS n LEFT JOIN async.q AS j ON j.account = n.account AND j.q_id = n.job
      LEFT JOIN async.q AS b ON b.account = n.account AND b.q_id = n.needed
     WHERE n.account = v_account AND (j.q_id IS NULL OR j.state <> 'BLOCKED' OR b.state = 'SUCCEEDED');
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
  OPEN v_needs;
  FETCH v_needs INTO v_job, v_needed;
  WHILE NOT v_done DO
    DELETE FROM async.needs WHERE account = v_account AND job = v_job AND needed = v_needed;
    SET v_done = 0;
    FETCH v_needs INTO v_job, v_needed;
  END WHILE;
  CLOSE v_needs;
END $$

-- Who waits for nothing more is queued.
CREATE PROCEDURE async.queue_followers(IN v_account SMALLINT UNSIGNED)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  DECLARE v_job BIGINT UNSIGNED;
  DECLARE v_done INT DEFAULT 0;
  DECLARE v_jobs CURSOR FOR
    SELECT j.q_id
      FROM async.q AS j LEFT JOIN async.needs AS n ON n.account = j.account AND n.job = j.q_id
     WHERE j.account = v_account AND j.state = 'BLOCKED' AND n.job IS NULL;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
  OPEN v_jobs;
  FETCH v_jobs INTO v_job;
  WHILE NOT v_done DO
    UPDATE async.q SET state = 'QUEUED' WHERE account = v_account AND q_id = v_job AND state = 'BLOCKED';
    SET v_done = 0;
    FETCH v_jobs INTO v_job;
  END WHILE;
  CLOSE v_jobs;
END $$

-- Jobs of an account's whose predecessors have all succeeded are queued; where one has not, they fail.
CREATE PROCEDURE async.follow(IN v_account SMALLINT UNSIGNED)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  DECLARE v_rounds, v_changed INT DEFAULT 0;
  DECLARE EXIT HANDLER FOR 1213, 1205 BEGIN END;
  CALL async.only_events();
  IF EXISTS (SELECT 1 FROM async.q WHERE account = v_account AND state = 'BLOCKED')
     OR EXISTS (SELECT 1 FROM async.needs WHERE account = v_account) THEN
    REPEAT
      CALL async.fail_followers(v_account, v_changed);
      SET v_rounds = v_rounds + 1;
    UNTIL v_changed = 0 OR v_rounds >= 1000 END REPEAT;
    CALL async.drop_needs(v_account);
    CALL async.queue_followers(v_account);
  END IF;
END $$

-- Ends the statement of a job that is to end; its session may be gone already.
CREATE PROCEDURE async.stop_job(IN v_account SMALLINT UNSIGNED, IN v_job BIGINT UNSIGNED)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  DECLARE v_connection BIGINT UNSIGNED;
  DECLARE CONTINUE HANDLER FOR 1094 BEGIN END;
  CALL async.only_workers();
  SELECT MIN(p.id) INTO v_connection
    FROM async.q AS q JOIN information_schema.processlist AS p ON p.id = q.connection_id
   WHERE q.account = v_account AND q.q_id = v_job AND q.state = 'RUNNING' AND q.ending <> '';
  IF v_connection IS NOT NULL THEN
    KILL QUERY v_connection;
  END IF;
END $$

-- Takes a job out of the queue, or stops it.
CREATE PROCEDURE async.cancel_job(IN v_account SMALLINT UNSIGNED, IN v_job BIGINT UNSIGNED)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  DECLARE v_state VARCHAR(10) DEFAULT
    (SELECT CONCAT(state) FROM async.q WHERE account = v_account AND q_id = v_job);
  IF v_state IN ('QUEUED', 'BLOCKED') THEN
    UPDATE async.q SET state = 'CANCELLED', completed_on = UTC_TIMESTAMP(6)
     WHERE account = v_account AND q_id = v_job AND state IN ('QUEUED', 'BLOCKED');
  ELSEIF v_state = 'RUNNING' THEN
    UPDATE async.q SET ending = 'CANCELLED'
     WHERE account = v_account AND q_id = v_job AND state = 'RUNNING';
    CALL async.stop_job(v_account, v_job);
  END IF;
END $$

-- Has each account's own procedure called: heed_N (1) or sweep_N (2).
CREATE PROCEDURE async.for_each_account(IN v_task INT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  DECLARE v_account SMALLINT UNSIGNED;
  DECLARE v_done, v_failed INT DEFAULT 0;
  DECLARE v_accounts CURSOR FOR SELECT id FROM async.account ORDER BY id;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
  CALL async.only_events();
  OPEN v_accounts;
  FETCH v_accounts INTO v_account;
  WHILE NOT v_done DO
    SET @async_command = CONCAT('CALL async.', ELT(v_task, 'heed_', 'sweep_'), v_account, '()');
    BEGIN
      -- What fails of one account's must not keep the others waiting. One that is being let in has no procedures yet.
      DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET v_failed = 1;
      DECLARE CONTINUE HANDLER FOR 1305, 1146, 1205, 1213 BEGIN END;
      PREPARE async_account FROM @async_command;
      EXECUTE async_account;
      DEALLOCATE PREPARE async_account;
    END;
    SET v_done = 0;
    FETCH v_accounts INTO v_account;
  END WHILE;
  CLOSE v_accounts;
  IF v_failed THEN
    SIGNAL SQLSTATE '99995' SET MESSAGE_TEXT = 'requests or old jobs of an account could not be processed';
  END IF;
END $$

-- Jobs whose session is gone, and those whose time is up.
CREATE PROCEDURE async.watch()
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  DECLARE v_account SMALLINT UNSIGNED;
  DECLARE v_job, v_connection BIGINT UNSIGNED;
  DECLARE v_is_late, v_is_here, v_done INT DEFAULT 0;
  DECLARE v_jobs CURSOR FOR
    SELECT q.account, q_id, q.connection_id,
           IFNULL(started_on + INTERVAL timeout_s SECOND < UTC_TIMESTAMP(6), 0),
           q.boot = b.id
      FROM async.q AS q JOIN async.boot AS b WHERE state = 'RUNNING';
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
  CALL async.only_events();
  OPEN v_jobs;
  FETCH v_jobs INTO v_account, v_job, v_connection, v_is_late, v_is_here;
  WHILE NOT v_done DO
    -- The list of processes is read after the list of jobs: whoever is missing from it ended
    -- before, and has written down first what became of its job.
    IF NOT v_is_here
       OR NOT EXISTS (SELECT 1 FROM information_schema.processlist WHERE id = v_connection) THEN
      UPDATE async.q
         SET state = IF(ending <> '', CONCAT(ending), 'LOST'), completed_on = UTC_TIMESTAMP(6),
             errmsg = IF(ending <> '', NULL, 'its session ended before the job did')
       WHERE account = v_account AND q_id = v_job AND state = 'RUNNING' AND connection_id = v_connection;
    ELSEIF v_is_late THEN
      UPDATE async.q SET ending = 'TIMED_OUT'
       WHERE account = v_account AND q_id = v_job AND state = 'RUNNING' AND ending = '';
      CALL async.stop_job(v_account, v_job);
    END IF;
    SET v_done = 0;
    FETCH v_jobs INTO v_account, v_job, v_connection, v_is_late, v_is_here;
  END WHILE;
  CLOSE v_jobs;
END $$

-- One session tends at a time (slot 0), and one sweeps (slot 65535). Nobody but the kit reaches that table, so nobody can hold it.
-- These rows are of this server only, and would be written to its binary log each second.
CREATE PROCEDURE async.take_turn(IN v_slot SMALLINT UNSIGNED, OUT v_is_mine INT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  CALL async.only_workers();
  -- What waits for an account's open transaction waits a second.
  SET SESSION autocommit = 1;
  SET SESSION innodb_lock_wait_timeout = 1, SESSION lock_wait_timeout = 1;
  IF @@GLOBAL.log_bin THEN
    SET SESSION sql_log_bin = 0;
  END IF;
  INSERT IGNORE INTO async.worker (slot, lap_on) VALUES (v_slot, UTC_TIMESTAMP(6));
  UPDATE async.worker SET connection_id = CONNECTION_ID()
   WHERE slot = v_slot AND (connection_id = 0
         OR connection_id NOT IN (SELECT id FROM information_schema.processlist));
  SET v_is_mine = ROW_COUNT();
  IF @@GLOBAL.log_bin THEN
    SET SESSION sql_log_bin = 1;
  END IF;
END $$

-- When it ended last is when all went well last: `dyno kit status` tells of that.
CREATE PROCEDURE async.end_turn(IN v_slot SMALLINT UNSIGNED)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  IF @@GLOBAL.log_bin THEN
    SET SESSION sql_log_bin = 0;
  END IF;
  UPDATE async.worker SET connection_id = 0, lap_on = UTC_TIMESTAMP(6) WHERE slot = v_slot;
END $$

-- Every slot that nobody fills gets a worker.
CREATE PROCEDURE async.fill_slots()
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  DECLARE v_slot INT DEFAULT 1;
  DECLARE v_slots, v_most, v_places INT;
  CALL async.only_events();
  SELECT MAX(IF(variable = 'thread_count', value + 0, 0)),
         MAX(IF(variable = 'thread_max', value + 0, 0)),
         MAX(IF(variable = 'places', value + 0, 0))
    INTO v_slots, v_most, v_places FROM async.settings;
  WHILE (SELECT COUNT(*) FROM async.worker WHERE slot BETWEEN 1 AND v_most) < v_most DO
    INSERT IGNORE INTO async.worker (slot, lap_on) VALUES (v_slot, UTC_TIMESTAMP(6));
    SET v_slot = v_slot + 1;
  END WHILE;
  -- Who is gone fills no slot.
  UPDATE async.worker SET connection_id = 0 WHERE slot BETWEEN 1 AND v_most AND connection_id <> 0
     AND connection_id NOT IN (SELECT id FROM information_schema.processlist);
  SET v_slot = 1;
  WHILE v_slot <= v_slots DO
    IF EXISTS (SELECT 1 FROM async.worker WHERE slot = v_slot AND connection_id = 0) THEN
      -- Any place of the slot's: one that ran in this second is not run, the next one is.
      CALL async.wake(v_slot + v_slots * FLOOR(RAND() * FLOOR((v_places - v_slot) / v_slots + 1)));
    END IF;
    SET v_slot = v_slot + 1;
  END WHILE;
END $$

CREATE PROCEDURE async.tend()
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  DECLARE v_is_mine INT;
  CALL async.take_turn(0, v_is_mine);
  IF v_is_mine THEN
    INSERT IGNORE INTO async.boot (one, id) VALUES (1, UUID());
    CALL async.watch();
    CALL async.fill_slots();
    CALL async.for_each_account(1);
    CALL async.end_turn(0);
  END IF;
END $$

-- What is dropped may be an account's to hold, and its dependencies may be many: so nothing else waits for this.
CREATE PROCEDURE async.sweep()
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  DECLARE v_is_mine INT;
  CALL async.take_turn(65535, v_is_mine);
  IF v_is_mine THEN
    CALL async.for_each_account(2);
    CALL async.end_turn(65535);
  END IF;
END $$
