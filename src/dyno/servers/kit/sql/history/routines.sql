-- The part history: collecting, and dropping what is too old.

-- How many seconds '2 WEEK' are. A month is 31 days here, a year 366.
CREATE PROCEDURE ps_history.psh_period(IN v_text VARCHAR(64), OUT v_s BIGINT)
NO SQL SQL SECURITY INVOKER COMMENT 'dyno kit history {version}'
BEGIN
  SET v_s = NULL;
  IF v_text REGEXP '^[0-9]{1,6} +(SECOND|MINUTE|HOUR|DAY|WEEK|MONTH|YEAR)$' THEN
    SET v_s = SUBSTRING_INDEX(v_text, ' ', 1) * ELT(
      FIELD(UPPER(SUBSTRING_INDEX(v_text, ' ', -1)), 'SECOND', 'MINUTE', 'HOUR', 'DAY', 'WEEK', 'MONTH', 'YEAR'),
      1, 60, 3600, 86400, 604800, 2678400, 31622400);
  END IF;
  IF v_s IS NULL OR v_s < 1 OR v_s > 316224000 THEN
    SIGNAL SQLSTATE '99999' SET MESSAGE_TEXT =
      'Invalid retention period: write 2 WEEK, 1 DAY or 7200 SECOND, at most 10 YEAR';
  END IF;
END $$

-- The partition for what is collected now, in every table that has none: an eighth of the retention period, an hour at least.
CREATE PROCEDURE ps_history.psh_add_partitions()
MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'dyno kit history {version}'
BEGIN
  DECLARE v_table VARCHAR(64) CHARACTER SET utf8;
  DECLARE v_width, v_bound BIGINT;
  DECLARE v_done INT DEFAULT 0;
  DECLARE v_tables CURSOR FOR
    SELECT table_name FROM information_schema.partitions
     WHERE table_schema = 'ps_history' AND partition_name IS NOT NULL GROUP BY table_name
    HAVING MAX(CAST(partition_description AS UNSIGNED)) <= TO_SECONDS(UTC_TIMESTAMP());
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
  CALL ps_history.psh_period(
    (SELECT value FROM ps_history.psh_settings WHERE variable = 'retention_period'), v_width);
  SET v_width = GREATEST(v_width DIV 8, 3600);
  SET v_bound = (TO_SECONDS(UTC_TIMESTAMP()) DIV v_width + 1) * v_width;
  OPEN v_tables;
  FETCH v_tables INTO v_table;
  WHILE NOT v_done DO
    SET @psh_command = CONCAT('ALTER TABLE ps_history.`', REPLACE(v_table, '`', '``'),
      '` ADD PARTITION (PARTITION p', v_bound, ' VALUES LESS THAN (', v_bound, '))');
    PREPARE psh_command FROM @psh_command;
    SET @psh_command = NULL;
    EXECUTE psh_command;
    DEALLOCATE PREPARE psh_command;
    SET v_done = 0;
    FETCH v_tables INTO v_table;
  END WHILE;
  CLOSE v_tables;
END $$

-- Partitions that end then or before go, but never the newest of a table.
CREATE PROCEDURE ps_history.psh_drop_partitions(IN v_until BIGINT)
MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'dyno kit history {version}'
BEGIN
  DECLARE v_table, v_partition VARCHAR(64) CHARACTER SET utf8;
  DECLARE v_newest BIGINT;
  DECLARE v_done INT DEFAULT 0;
  DECLARE v_partitions CURSOR FOR
    SELECT table_name, partition_name FROM information_schema.partitions
     WHERE table_schema = 'ps_history' AND partition_name IS NOT NULL
       AND CAST(partition_description AS UNSIGNED) <= v_until
       AND CAST(partition_description AS UNSIGNED) < v_newest;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
  CALL ps_history.psh_add_partitions();
  SELECT MAX(CAST(partition_description AS UNSIGNED)) INTO v_newest FROM information_schema.partitions
   WHERE table_schema = 'ps_history' AND table_name = 'psh_collections';
  OPEN v_partitions;
  FETCH v_partitions INTO v_table, v_partition;
  WHILE NOT v_done DO
    SET @psh_command = CONCAT('ALTER TABLE ps_history.`', REPLACE(v_table, '`', '``'),
      '` DROP PARTITION `', REPLACE(v_partition, '`', '``'), '`');
    PREPARE psh_command FROM @psh_command;
    SET @psh_command = NULL;
    EXECUTE psh_command;
    DEALLOCATE PREPARE psh_command;
    SET v_done = 0;
    FETCH v_partitions INTO v_table, v_partition;
  END WHILE;
  CLOSE v_partitions;
END $$

-- Too many rows: the oldest partitions go, and where the newest holds too many by itself nothing more is collected.
CREATE PROCEDURE ps_history.psh_check_rows()
MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'dyno kit history {version}'
BEGIN
  DECLARE v_most, v_oldest BIGINT;
  SET v_most = (SELECT value + 0 FROM ps_history.psh_settings WHERE variable = 'max_rows');
  WHILE (SELECT IFNULL(SUM(row_count), 0) FROM ps_history.psh_collections) >= v_most DO
    SET v_oldest = (SELECT MIN(CAST(partition_description AS UNSIGNED)) FROM information_schema.partitions
                     WHERE table_schema = 'ps_history' AND table_name = 'psh_collections');
    IF v_oldest = (SELECT MAX(CAST(partition_description AS UNSIGNED)) FROM information_schema.partitions
                    WHERE table_schema = 'ps_history' AND table_name = 'psh_collections') THEN
      SIGNAL SQLSTATE '99999' SET MESSAGE_TEXT =
        'the history is full: raise set_max_rows, shorten the retention period, or call truncate_tables';
    END IF;
    CALL ps_history.psh_drop_partitions(v_oldest);
  END WHILE;
END $$

-- Whoever has the turn collects or cleans; whoever has none waits so many seconds, and is told. A turn is a row that only
-- the kit reaches, of a table without transactions, so that nobody else can hold it; one whose session is gone ends after a minute.
CREATE PROCEDURE ps_history.psh_take_turn(IN v_wait_s INT, OUT v_is_mine INT)
MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'dyno kit history {version}'
BEGIN
  DECLARE v_waited_s DECIMAL(6,2) DEFAULT 0;
  INSERT IGNORE INTO sys_history.psh_turn (one) VALUES (1);
  turn: LOOP
    UPDATE sys_history.psh_turn SET connection_id = CONNECTION_ID(), since = UTC_TIMESTAMP()
     WHERE connection_id IN (0, CONNECTION_ID()) OR since < UTC_TIMESTAMP() - INTERVAL 1 MINUTE
       AND connection_id NOT IN (SELECT id FROM information_schema.processlist);
    SET v_is_mine = (SELECT connection_id = CONNECTION_ID() FROM sys_history.psh_turn);
    IF v_is_mine OR v_waited_s >= v_wait_s THEN
      LEAVE turn;
    END IF;
    DO SLEEP(0.05);
    SET v_waited_s = v_waited_s + 0.05;
  END LOOP;
END $$

-- Ends the turn; a failure is kept for `dyno kit status`.
CREATE PROCEDURE ps_history.psh_end_turn(IN v_problem VARCHAR(500) CHARACTER SET utf8)
MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'dyno kit history {version}'
UPDATE sys_history.psh_turn SET connection_id = 0, problem = IFNULL(v_problem, '')
 WHERE connection_id = CONNECTION_ID() $$

-- Does a task (1 collects, 2 drops what is older than v_argument seconds, 3 empties, 0 collects if it is time) in a session that writes
-- no binary log and is not counted, nor waits long for readers; the session is as it was afterwards.
CREATE PROCEDURE ps_history.psh_alone(IN v_task INT, IN v_argument BIGINT, IN v_wait_s INT)
MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'dyno kit history {version}'
BEGIN
  DECLARE v_log INT DEFAULT @@SESSION.sql_log_bin;
  DECLARE v_zone VARCHAR(64) DEFAULT @@SESSION.time_zone;
  DECLARE v_lock_s BIGINT DEFAULT @@SESSION.lock_wait_timeout;
  DECLARE v_row_lock_s BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
  DECLARE v_counted VARCHAR(3);
  DECLARE v_is_mine, v_is_due INT;
  DECLARE v_problem TEXT CHARACTER SET utf8;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION
  BEGIN
    GET DIAGNOSTICS CONDITION 1 v_problem = MESSAGE_TEXT;
    ROLLBACK;
    CALL ps_history.psh_end_turn(LEFT(v_problem, 500));
    CALL ps_history.psh_leave(v_counted, v_log, v_zone, v_lock_s, v_row_lock_s);
    RESIGNAL;
  END;
  COMMIT;
  IF @@GLOBAL.log_bin THEN
    SET SESSION sql_log_bin = 0;
  END IF;
  SET SESSION time_zone = '+00:00';
  SET SESSION lock_wait_timeout = 5, SESSION innodb_lock_wait_timeout = 5;
  CALL ps_history.psh_take_turn(v_wait_s, v_is_mine);
  IF v_is_mine THEN
    SELECT MIN(instrumented) INTO v_counted FROM performance_schema.threads WHERE processlist_id = CONNECTION_ID();
    UPDATE performance_schema.threads SET instrumented = 'NO' WHERE processlist_id = CONNECTION_ID();
    -- Somebody may have collected until it had the turn.
    CALL ps_history.psh_due(v_is_due);
    IF v_task = 1 OR v_task = 0 AND v_is_due THEN
      CALL ps_history.psh_clean();
      CALL ps_history.psh_check_rows();
      CALL ps_history.psh_take();
    ELSEIF v_task = 2 THEN
      CALL ps_history.psh_drop_partitions(TO_SECONDS(UTC_TIMESTAMP()) - v_argument);
    ELSEIF v_task = 3 THEN
      CALL ps_history.psh_drop_partitions(0);
      CALL ps_history.psh_empty();
    END IF;
    COMMIT;
    CALL ps_history.psh_end_turn('');
  END IF;
  CALL ps_history.psh_leave(v_counted, v_log, v_zone, v_lock_s, v_row_lock_s);
  IF NOT v_is_mine AND v_task > 0 THEN
    SIGNAL SQLSTATE '99999' SET MESSAGE_TEXT = 'another collection is under way';
  END IF;
END $$

-- The session as it was.
CREATE PROCEDURE ps_history.psh_leave(IN v_counted VARCHAR(3), IN v_log INT, IN v_zone VARCHAR(64), IN v_lock_s BIGINT, IN v_row_lock_s BIGINT)
MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'dyno kit history {version}'
BEGIN
  IF v_counted IS NOT NULL THEN
    UPDATE performance_schema.threads SET instrumented = v_counted WHERE processlist_id = CONNECTION_ID();
    COMMIT;
  END IF;
  IF @@GLOBAL.log_bin THEN
    SET SESSION sql_log_bin = v_log;
  END IF;
  SET SESSION time_zone = v_zone;
  SET SESSION lock_wait_timeout = v_lock_s, SESSION innodb_lock_wait_timeout = v_row_lock_s;
END $$

CREATE PROCEDURE ps_history.psh_clean()
MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'dyno kit history {version}'
BEGIN
  DECLARE v_s BIGINT;
  CALL ps_history.psh_period(
    (SELECT value FROM ps_history.psh_settings WHERE variable = 'retention_period'), v_s);
  CALL ps_history.psh_drop_partitions(TO_SECONDS(UTC_TIMESTAMP()) - v_s);
END $$

CREATE PROCEDURE ps_history.psh_empty()
MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'dyno kit history {version}'
BEGIN
  DECLARE v_table VARCHAR(64) CHARACTER SET utf8;
  DECLARE v_done INT DEFAULT 0;
  DECLARE v_tables CURSOR FOR
    SELECT DISTINCT table_name FROM information_schema.partitions
     WHERE table_schema = 'ps_history' AND partition_name IS NOT NULL;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
  OPEN v_tables;
  FETCH v_tables INTO v_table;
  WHILE NOT v_done DO
    SET @psh_command = CONCAT('TRUNCATE TABLE ps_history.`', REPLACE(v_table, '`', '``'), '`');
    PREPARE psh_command FROM @psh_command;
    SET @psh_command = NULL;
    EXECUTE psh_command;
    DEALLOCATE PREPARE psh_command;
    SET v_done = 0;
    FETCH v_tables INTO v_table;
  END WHILE;
  CLOSE v_tables;
END $$

CREATE PROCEDURE ps_history.collect()
MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'dyno kit history {version}'
CALL ps_history.psh_alone(1, 0, 10) $$

CREATE PROCEDURE ps_history.psh_due(OUT v_is_due INT)
READS SQL DATA SQL SECURITY INVOKER COMMENT 'dyno kit history {version}'
BEGIN
  DECLARE v_last DATETIME(6) DEFAULT (SELECT MAX(ts) FROM ps_history.psh_collections);
  DECLARE v_interval_s INT;
  SET v_interval_s = (SELECT value + 0 FROM ps_history.psh_settings WHERE variable = 'interval');
  SET v_is_due = v_last IS NULL
    OR v_last + INTERVAL v_interval_s SECOND <= UTC_TIMESTAMP(6) + INTERVAL 500000 MICROSECOND;
END $$

-- What the event calls each second.
CREATE PROCEDURE ps_history.collect_at_interval()
MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'dyno kit history {version}'
BEGIN
  DECLARE v_is_due INT;
  CALL ps_history.psh_due(v_is_due);
  IF v_is_due THEN
    CALL ps_history.psh_alone(0, 0, 0);
  END IF;
END $$

CREATE PROCEDURE ps_history.set_collect_interval(IN v_interval INT)
MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'dyno kit history {version}'
BEGIN
  IF v_interval IS NULL OR v_interval < 1 OR v_interval > 86400 THEN
    SIGNAL SQLSTATE '99999' SET MESSAGE_TEXT = 'Interval must be 1 to 86400 seconds';
  END IF;
  UPDATE ps_history.psh_settings SET value = v_interval WHERE variable = 'interval';
  COMMIT;
  SELECT 'Updated interval setting' AS message;
END $$

CREATE PROCEDURE ps_history.set_collection_interval(IN v_interval INT)
MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'dyno kit history {version}'
CALL ps_history.set_collect_interval(v_interval) $$

CREATE PROCEDURE ps_history.test_retention_period(IN v_period VARCHAR(64))
READS SQL DATA SQL SECURITY INVOKER COMMENT 'dyno kit history {version}'
BEGIN
  DECLARE v_s BIGINT;
  CALL ps_history.psh_period(v_period, v_s);
  SELECT v_s AS seconds;
END $$

CREATE PROCEDURE ps_history.set_retention_period(IN v_period VARCHAR(64))
MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'dyno kit history {version}'
BEGIN
  DECLARE v_s BIGINT;
  CALL ps_history.psh_period(v_period, v_s);
  UPDATE ps_history.psh_settings SET value = v_period WHERE variable = 'retention_period';
  COMMIT;
  SELECT 'Updated retention period setting' AS message;
END $$

CREATE PROCEDURE ps_history.set_max_rows(IN v_rows BIGINT)
MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'dyno kit history {version}'
BEGIN
  IF v_rows IS NULL OR v_rows < 1 THEN
    SIGNAL SQLSTATE '99999' SET MESSAGE_TEXT = 'at least one row must be kept';
  END IF;
  UPDATE ps_history.psh_settings SET value = v_rows WHERE variable = 'max_rows';
  COMMIT;
  SELECT 'Updated max_rows setting' AS message;
END $$

CREATE PROCEDURE ps_history.cleanup_history(IN v_period VARCHAR(64))
MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'dyno kit history {version}'
BEGIN
  DECLARE v_s BIGINT;
  CALL ps_history.psh_period(v_period, v_s);
  CALL ps_history.psh_alone(2, v_s, 10);
END $$

CREATE PROCEDURE ps_history.auto_cleanup_history()
MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'dyno kit history {version}'
CALL ps_history.cleanup_history(
  (SELECT value FROM ps_history.psh_settings WHERE variable = 'retention_period')) $$

CREATE PROCEDURE ps_history.truncate_tables()
MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'dyno kit history {version}'
CALL ps_history.psh_alone(3, 0, 10) $$
