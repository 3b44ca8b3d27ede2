-- The part async: what workers cannot see to.

-- Jobs whose predecessors have all succeeded are queued; where one has not, they fail.
CREATE PROCEDURE async.follow()
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  DECLARE v_rounds, v_changed INT DEFAULT 0;
  DECLARE CONTINUE HANDLER FOR 1213, 1205 SET v_changed = 0;
  CALL async.only_events();
  IF EXISTS (SELECT 1 FROM async.needs) THEN
    REPEAT
      UPDATE async.q AS job JOIN async.needs AS n ON n.job = job.q_id
        JOIN async.q AS before_it ON before_it.q_id = n.needed
         SET job.state = 'FAILED', job.sql_state = '99990', job.completed_on = UTC_TIMESTAMP(6),
             job.errmsg = CONCAT('job ', n.needed, ', which it comes after, is ', before_it.state)
       WHERE job.state = 'BLOCKED'
         AND before_it.state IN ('FAILED', 'CANCELLED', 'TIMED_OUT', 'LOST');
      SET v_changed = ROW_COUNT(), v_rounds = v_rounds + 1;
    UNTIL v_changed = 0 OR v_rounds >= 1000 END REPEAT;
    DELETE n FROM async.needs AS n LEFT JOIN async.q AS job ON job.q_id = n.job
      LEFT JOIN async.q AS before_it ON before_it.q_id = n.needed
     WHERE job.q_id IS NULL OR job.state <> 'BLOCKED' OR before_it.state = 'SUCCEEDED';
  END IF;
  IF EXISTS (SELECT 1 FROM async.q WHERE state = 'BLOCKED') THEN
    UPDATE async.q AS job LEFT JOIN async.needs AS n ON n.job = job.q_id
       SET job.state = 'QUEUED'
     WHERE job.state = 'BLOCKED' AND n.job IS NULL;
  END IF;
END $$

-- Ends the statement of a job that is to end; its session may be gone already.
CREATE PROCEDURE async.stop_job(IN v_job BIGINT UNSIGNED)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  DECLARE v_connection BIGINT UNSIGNED;
  DECLARE CONTINUE HANDLER FOR 1094 BEGIN END;
  CALL async.only_workers();
  SELECT MIN(p.id) INTO v_connection
    FROM async.q AS q JOIN information_schema.processlist AS p ON p.id = q.connection_id
   WHERE q.q_id = v_job AND q.state = 'RUNNING' AND q.ending <> '';
  IF v_connection IS NOT NULL THEN
    KILL QUERY v_connection;
  END IF;
END $$

-- Jobs that somebody wants cancelled or forgotten.
CREATE PROCEDURE async.heed()
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  DECLARE v_job BIGINT UNSIGNED;
  DECLARE v_wish VARCHAR(10);
  DECLARE v_done INT DEFAULT 0;
  DECLARE v_jobs CURSOR FOR
    SELECT q_id, wanted FROM async.q WHERE wanted IN ('CANCEL', 'FORGET');
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
  CALL async.only_events();
  OPEN v_jobs;
  FETCH v_jobs INTO v_job, v_wish;
  WHILE NOT v_done DO
    IF v_wish = 'CANCEL' THEN
      UPDATE async.q SET state = 'CANCELLED', completed_on = UTC_TIMESTAMP(6)
       WHERE q_id = v_job AND state IN ('QUEUED', 'BLOCKED');
      UPDATE async.q SET ending = 'CANCELLED' WHERE q_id = v_job AND state = 'RUNNING';
      IF ROW_COUNT() = 1 THEN
        CALL async.stop_job(v_job);
      END IF;
      UPDATE async.q SET wanted = '' WHERE q_id = v_job AND wanted = 'CANCEL';
    ELSE
      CALL async.drop_job(v_job);
    END IF;
    SET v_done = 0;
    FETCH v_jobs INTO v_job, v_wish;
  END WHILE;
  CLOSE v_jobs;
  CALL async.follow();
END $$

CREATE PROCEDURE async.drop_job(IN v_job BIGINT UNSIGNED)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  DECLARE v_account SMALLINT UNSIGNED;
  CALL async.only_workers();
  SELECT MIN(account) INTO v_account FROM async.q
   WHERE q_id = v_job AND state NOT IN ('QUEUED', 'BLOCKED', 'RUNNING');
  IF v_account IS NOT NULL THEN
    SET @async_command = CONCAT('DROP TABLE IF EXISTS async_', v_account, '.rs_', v_job);
    PREPARE async_command FROM @async_command;
    EXECUTE async_command;
    DEALLOCATE PREPARE async_command;
    DELETE FROM async.q WHERE q_id = v_job;
  END IF;
END $$

-- Jobs whose session is gone, and those whose time is up.
CREATE PROCEDURE async.watch()
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  DECLARE v_job, v_connection BIGINT UNSIGNED;
  DECLARE v_is_late, v_is_here, v_done INT DEFAULT 0;
  DECLARE v_jobs CURSOR FOR
    SELECT q_id, q.connection_id,
           IFNULL(started_on + INTERVAL timeout_s SECOND < UTC_TIMESTAMP(6), 0),
           q.boot = b.id
      FROM async.q AS q JOIN async.boot AS b WHERE state = 'RUNNING';
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
  CALL async.only_events();
  OPEN v_jobs;
  FETCH v_jobs INTO v_job, v_connection, v_is_late, v_is_here;
  WHILE NOT v_done DO
    -- The list of processes is read after the list of jobs: whoever is missing from it ended
    -- before, and has written down first what became of its job.
    IF NOT v_is_here
       OR NOT EXISTS (SELECT 1 FROM information_schema.processlist WHERE id = v_connection) THEN
      UPDATE async.q
         SET state = IF(ending <> '', ending, 'LOST'), completed_on = UTC_TIMESTAMP(6),
             errmsg = IF(ending <> '', NULL, 'its session ended before the job did')
       WHERE q_id = v_job AND state = 'RUNNING' AND connection_id = v_connection;
    ELSEIF v_is_late THEN
      UPDATE async.q SET ending = 'TIMED_OUT'
       WHERE q_id = v_job AND state = 'RUNNING' AND ending = '';
      CALL async.stop_job(v_job);
    END IF;
    SET v_done = 0;
    FETCH v_jobs INTO v_job, v_connection, v_is_late, v_is_here;
  END WHILE;
  CLOSE v_jobs;
END $$

CREATE PROCEDURE async.expire()
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  DECLARE v_job BIGINT UNSIGNED;
  DECLARE v_done INT DEFAULT 0;
  DECLARE v_jobs CURSOR FOR
    SELECT q_id FROM async.q WHERE completed_on < UTC_TIMESTAMP(6) - INTERVAL
      (SELECT value + 0 FROM async.settings WHERE variable = 'retention_h') HOUR LIMIT 100;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
  CALL async.only_events();
  OPEN v_jobs;
  FETCH v_jobs INTO v_job;
  WHILE NOT v_done DO
    CALL async.drop_job(v_job);
    SET v_done = 0;
    FETCH v_jobs INTO v_job;
  END WHILE;
  CLOSE v_jobs;
END $$

-- One session tends at a time: slot 0 is its. Nobody but the kit reaches that table, so nobody can hold it. These rows
-- are of this server only, and would be written to its binary log each second.
CREATE PROCEDURE async.take_turn(OUT v_is_mine INT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  IF @@GLOBAL.log_bin THEN
    SET SESSION sql_log_bin = 0;
  END IF;
  INSERT IGNORE INTO async.worker (slot, lap_on) VALUES (0, UTC_TIMESTAMP(6));
  UPDATE async.worker SET connection_id = CONNECTION_ID(), lap_on = UTC_TIMESTAMP(6)
   WHERE slot = 0 AND (connection_id = 0
         OR connection_id NOT IN (SELECT id FROM information_schema.processlist));
  SET v_is_mine = ROW_COUNT();
  IF @@GLOBAL.log_bin THEN
    SET SESSION sql_log_bin = 1;
  END IF;
END $$

CREATE PROCEDURE async.end_turn()
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  IF @@GLOBAL.log_bin THEN
    SET SESSION sql_log_bin = 0;
  END IF;
  UPDATE async.worker SET connection_id = 0 WHERE slot = 0;
END $$

CREATE PROCEDURE async.tend()
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  DECLARE v_slot INT DEFAULT 1;
  DECLARE v_slots, v_most, v_places, v_is_mine INT;
  CALL async.only_workers();
  SET SESSION autocommit = 1;
  CALL async.take_turn(v_is_mine);
  IF v_is_mine THEN
    INSERT IGNORE INTO async.boot (one, id) VALUES (1, UUID());
    CALL async.heed();
    CALL async.watch();
    CALL async.follow();
    CALL async.expire();
    SELECT MAX(IF(variable = 'thread_count', value + 0, 0)),
           MAX(IF(variable = 'thread_max', value + 0, 0)),
           MAX(IF(variable = 'places', value + 0, 0))
      INTO v_slots, v_most, v_places FROM async.settings;
    WHILE (SELECT COUNT(*) FROM async.worker WHERE slot > 0) < v_most DO
      INSERT IGNORE INTO async.worker (slot, lap_on) VALUES (v_slot, UTC_TIMESTAMP(6));
      SET v_slot = v_slot + 1;
    END WHILE;
    -- Who is gone fills no slot.
    UPDATE async.worker SET connection_id = 0
     WHERE connection_id NOT IN (SELECT id FROM information_schema.processlist);
    SET v_slot = 1;
    WHILE v_slot <= v_slots DO
      IF EXISTS (SELECT 1 FROM async.worker WHERE slot = v_slot AND connection_id = 0) THEN
        -- Any place of the slot's: one that ran in this second is not run, the next one is.
        CALL async.wake(v_slot + v_slots * FLOOR(RAND() * FLOOR((v_places - v_slot) / v_slots + 1)));
      END IF;
      SET v_slot = v_slot + 1;
    END WHILE;
    CALL async.end_turn();
  END IF;
END $$
