-- The part async: what those who queue call, and administrators.

-- Each begins by asking for the caller's number; all commit, as CREATE TABLE does: a job that is
-- not committed cannot run, and one that ended cannot be seen from within an older transaction.

CREATE PROCEDURE async.who(OUT v_me SMALLINT UNSIGNED)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
  DECLARE v_text VARCHAR(128);
  -- Another account may hold rows of that table: so they are read without locks.
  COMMIT AND NO CHAIN NO RELEASE;
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  SELECT MIN(id) INTO v_me FROM async.account WHERE name = CURRENT_USER();
  COMMIT AND NO CHAIN NO RELEASE;
  IF v_me IS NULL THEN
    SET v_text = LEFT(CONCAT('no jobs for ', CURRENT_USER(),
                             ': dyno kit install async --account ', CURRENT_USER()), 128);
    SIGNAL SQLSTATE '99997' SET MESSAGE_TEXT = v_text;
  END IF;
END $$

-- Plays @async_command, with the caller's rights. Where many tables come and go, as results do, a
-- server may forget a view between PREPARE and EXECUTE; it says so (1615) before anything is done. One
-- whose table_definition_cache is full does so each time: then this gives up after a second.
CREATE PROCEDURE async.command()
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  DECLARE v_tries INT DEFAULT 0;
  DECLARE v_again TINYINT DEFAULT 1;
  WHILE v_again DO
    SET v_again = 0, v_tries = v_tries + 1;
    BEGIN
      DECLARE EXIT HANDLER FOR 1615
      BEGIN
        IF v_tries = 200 THEN
          RESIGNAL;
        END IF;
        DO SLEEP(0.005);
        SET v_again = 1;
      END;
      PREPARE async_command FROM @async_command;
      EXECUTE async_command;
      DEALLOCATE PREPARE async_command;
    END;
  END WHILE;
END $$

CREATE PROCEDURE async.submit(IN v_sql LONGTEXT, IN v_priority SMALLINT, IN v_after VARCHAR(1000),
                              IN v_timeout_s INT UNSIGNED)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  DECLARE v_me SMALLINT UNSIGNED;
  CALL async.who(v_me);
  SET @async_sql = v_sql, @async_priority = IFNULL(v_priority, 0),
      @async_after = REPLACE(IFNULL(v_after, ''), ' ', ''), @async_timeout = v_timeout_s;
  CALL async.check_after(v_me, @async_after);
  SET @async_command = CONCAT('INSERT INTO async_', v_me, '.inbox',
    ' (sql_text, priority, after_list, timeout_s)',
    ' VALUES (@async_sql, @async_priority, @async_after, @async_timeout)');
  CALL async.command();
  SET @query_number = LAST_INSERT_ID();
  SET @query_list = CONCAT_WS(',', NULLIF(@query_list, ''), @query_number);
  COMMIT AND NO CHAIN NO RELEASE;
  SET @async_sql = NULL;
  SELECT @query_number AS QUERY_NUMBER;
END $$

CREATE PROCEDURE async.queue(IN v_sql_text LONGTEXT)
SQL SECURITY INVOKER MODIFIES SQL DATA
  CALL async.submit(v_sql_text, 0, '', NULL) $$

-- An error where one of these is no job of the caller's.
CREATE PROCEDURE async.check_after(IN v_me SMALLINT UNSIGNED, IN v_left VARCHAR(1000) CHARACTER SET utf8)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
  DECLARE EXIT HANDLER FOR SQLSTATE '99998'
    SIGNAL SQLSTATE '99998' SET MESSAGE_TEXT = 'Invalid QUERY_NUMBER among those to come after';
  WHILE v_left <> '' DO
    IF v_left NOT REGEXP '^[0-9]{1,18}(,[0-9]{1,18})*$' THEN
      SIGNAL SQLSTATE '99997' SET MESSAGE_TEXT = 'the jobs to come after are numbers, as 3,5,8';
    END IF;
    CALL async.look(v_me, SUBSTRING_INDEX(v_left, ',', 1));
    SET v_left = IF(LOCATE(',', v_left), SUBSTRING(v_left, LOCATE(',', v_left) + 1), '');
  END WHILE;
END $$

-- The caller's job as @async_state and so on; an error where the caller has none of this number.
CREATE PROCEDURE async.look(IN v_me SMALLINT UNSIGNED, IN v_q_id BIGINT UNSIGNED)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
  COMMIT AND NO CHAIN NO RELEASE;
  SET @async_state = NULL, @async_id = v_q_id;
  SET @async_command = CONCAT('SELECT MAX(number) INTO @async_pass FROM async_', v_me, '.pass');
  CALL async.command();
  SET @async_command = CONCAT('CALL async.look_', v_me, '(@async_pass, @async_id, @async_state,',
    ' @async_has_result, @async_rows, @async_text)');
  CALL async.command();
  SET @async_pass = NULL;
  IF @async_state IS NULL THEN
    SIGNAL SQLSTATE '99998' SET MESSAGE_TEXT = 'Invalid QUERY_NUMBER';
  END IF;
END $$

CREATE PROCEDURE async.check(IN v_q_id BIGINT UNSIGNED)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
  DECLARE v_me SMALLINT UNSIGNED;
  CALL async.who(v_me);
  COMMIT AND NO CHAIN NO RELEASE;
  SET @async_id = v_q_id;
  SET @async_command = CONCAT('SELECT MAX(number) INTO @async_pass FROM async_', v_me, '.pass');
  CALL async.command();
  SET @async_command = CONCAT('CALL async.check_', v_me, '(@async_pass, @async_id)');
  CALL async.command();
  SET @async_pass = NULL;
END $$

CREATE PROCEDURE async.wait(IN v_q_id BIGINT UNSIGNED)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  DECLARE v_me SMALLINT UNSIGNED;
  DECLARE v_pause DECIMAL(6,3) DEFAULT 0.002;
  DECLARE v_text VARCHAR(128);
  CALL async.who(v_me);
  CALL async.look(v_me, v_q_id);
  WHILE @async_state IN ('QUEUED', 'BLOCKED', 'RUNNING') DO
    DO SLEEP(v_pause);
    SET v_pause = LEAST(v_pause * 1.5, 0.25);
    CALL async.look(v_me, v_q_id);
  END WHILE;
  IF @async_state <> 'SUCCEEDED' THEN
    SET v_text = LEFT(CONCAT_WS(': ', @async_state, @async_text), 128);
    SIGNAL SQLSTATE '99990' SET MESSAGE_TEXT = v_text;
  END IF;
  SET @async_command = IF(@async_has_result,
    CONCAT('SELECT * FROM async_', v_me, '.rs_', v_q_id),
    'SELECT @async_id AS q_id, @async_state AS state, @async_rows AS row_count');
  CALL async.command();
  COMMIT AND NO CHAIN NO RELEASE;
END $$

CREATE PROCEDURE async.wait_list(INOUT v_list TEXT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  DECLARE v_left TEXT DEFAULT REPLACE(IFNULL(v_list, ''), ' ', '');
  WHILE v_left <> '' DO
    CALL async.wait(SUBSTRING_INDEX(v_left, ',', 1));
    SET v_left = IF(LOCATE(',', v_left), SUBSTRING(v_left, LOCATE(',', v_left) + 1), '');
  END WHILE;
  SET v_list = '';
END $$

CREATE PROCEDURE async.wait_all()
SQL SECURITY INVOKER MODIFIES SQL DATA
  CALL async.wait_list(@query_list) $$

-- async.tend and async.sweep come to it within a second.
CREATE PROCEDURE async.wish(IN v_q_id BIGINT UNSIGNED, IN v_wish VARCHAR(10))
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  DECLARE v_me SMALLINT UNSIGNED;
  CALL async.who(v_me);
  CALL async.look(v_me, v_q_id);
  IF v_wish = 'FORGET' AND @async_state IN ('QUEUED', 'BLOCKED', 'RUNNING') THEN
    SIGNAL SQLSTATE '99998' SET MESSAGE_TEXT = 'the job has not ended: CALL async.cancel first';
  END IF;
  SET @async_wish = v_wish;
  SET @async_command = CONCAT('INSERT INTO async_', v_me, '.wishes (q_id, wish) VALUES (@async_id, @async_wish)');
  CALL async.command();
  COMMIT AND NO CHAIN NO RELEASE;
END $$

CREATE PROCEDURE async.cancel(IN v_q_id BIGINT UNSIGNED)
SQL SECURITY INVOKER MODIFIES SQL DATA
  CALL async.wish(v_q_id, 'CANCEL') $$

CREATE PROCEDURE async.forget(IN v_q_id BIGINT UNSIGNED)
SQL SECURITY INVOKER MODIFIES SQL DATA
  CALL async.wish(v_q_id, 'FORGET') $$

CREATE PROCEDURE async.set_concurrency(IN v_workers INT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  DECLARE v_text VARCHAR(128);
  DECLARE v_most INT DEFAULT
    (SELECT value FROM async.settings WHERE variable = 'thread_max');
  IF v_workers IS NULL OR v_workers < 1 OR v_workers > v_most THEN
    SET v_text = CONCAT('the number of workers is from 1 to ', v_most);
    SIGNAL SQLSTATE '99999' SET MESSAGE_TEXT = v_text;
  END IF;
  UPDATE async.settings SET value = v_workers WHERE variable = 'thread_count';
  COMMIT AND NO CHAIN NO RELEASE;
END $$

CREATE PROCEDURE async.set_retention(IN v_hours INT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  IF v_hours IS NULL OR v_hours < 1 THEN
    SIGNAL SQLSTATE '99999' SET MESSAGE_TEXT = 'jobs are kept for an hour at least';
  END IF;
  UPDATE async.settings SET value = v_hours WHERE variable = 'retention_h';
  COMMIT AND NO CHAIN NO RELEASE;
END $$

CREATE PROCEDURE async.set_quota(IN v_rows BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  IF v_rows IS NULL OR v_rows < 100 THEN
    SIGNAL SQLSTATE '99999' SET MESSAGE_TEXT = 'results of an account may be 100 rows at least';
  END IF;
  UPDATE async.settings SET value = v_rows WHERE variable = 'result_rows_max';
  COMMIT AND NO CHAIN NO RELEASE;
END $$
