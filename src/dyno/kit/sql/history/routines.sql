-- The part history: collecting, and dropping what is too old.

-- How many seconds '2 WEEK' are. A month is 31 days here, a year 366.
CREATE PROCEDURE ps_history.psh_period(IN v_text VARCHAR(64), OUT v_s BIGINT)
NO SQL COMMENT 'dyno kit history {version}'
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

CREATE PROCEDURE ps_history.psh_run(IN v_sql LONGTEXT)
MODIFIES SQL DATA COMMENT 'dyno kit history {version}'
BEGIN
  SET @psh_command = v_sql;
  PREPARE psh_command FROM @psh_command;
  SET @psh_command = NULL;
  EXECUTE psh_command;
  DEALLOCATE PREPARE psh_command;
END $$

-- The partition for what is collected now, in every table that has none: an eighth of the retention period, an hour at least.
CREATE PROCEDURE ps_history.psh_add_partitions()
MODIFIES SQL DATA COMMENT 'dyno kit history {version}'
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
    CALL ps_history.psh_run(CONCAT('ALTER TABLE ps_history.`', v_table, '` ADD PARTITION (PARTITION p',
                                   v_bound, ' VALUES LESS THAN (', v_bound, '))'));
    SET v_done = 0;
    FETCH v_tables INTO v_table;
  END WHILE;
  CLOSE v_tables;
END $$

-- Partitions that end then or before go, but never the newest of a table.
CREATE PROCEDURE ps_history.psh_drop_partitions(IN v_until BIGINT)
MODIFIES SQL DATA COMMENT 'dyno kit history {version}'
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
    CALL ps_history.psh_run(CONCAT('ALTER TABLE ps_history.`', v_table, '` DROP PARTITION ', v_partition));
    SET v_done = 0;
    FETCH v_partitions INTO v_table, v_partition;
  END WHILE;
  CLOSE v_partitions;
END $$

-- Too many rows: the oldest partitions go, and where the newest holds too many by itself nothing more is collected.
CREATE PROCEDURE ps_history.psh_check_rows()
MODIFIES SQL DATA COMMENT 'dyno kit history {version}'
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

-- Does a task in a session that writes no binary log and is not counted; the session is as it was afterwards.
CREATE PROCEDURE ps_history.psh_alone(IN v_task VARCHAR(16), IN v_argument BIGINT)
MODIFIES SQL DATA COMMENT 'dyno kit history {version}'
BEGIN
  DECLARE v_log INT DEFAULT @@SESSION.sql_log_bin;
  DECLARE v_zone VARCHAR(64) DEFAULT @@SESSION.time_zone;
  DECLARE v_counted VARCHAR(3);
  DECLARE EXIT HANDLER FOR SQLEXCEPTION
  BEGIN
    ROLLBACK;
    UPDATE performance_schema.threads SET instrumented = IFNULL(v_counted, instrumented)
     WHERE processlist_id = CONNECTION_ID();
    COMMIT;
    IF @@GLOBAL.log_bin THEN
      SET SESSION sql_log_bin = v_log;
    END IF;
    SET SESSION time_zone = v_zone;
    DO RELEASE_LOCK('ps_history');
    RESIGNAL;
  END;
  COMMIT;
  IF @@GLOBAL.log_bin THEN
    SET SESSION sql_log_bin = 0;
  END IF;
  SET SESSION time_zone = '+00:00';
  SELECT MIN(instrumented) INTO v_counted FROM performance_schema.threads WHERE processlist_id = CONNECTION_ID();
  UPDATE performance_schema.threads SET instrumented = 'NO' WHERE processlist_id = CONNECTION_ID();
  IF v_task = 'collect' THEN
    CALL ps_history.psh_clean();
    CALL ps_history.psh_check_rows();
    CALL ps_history.psh_take();
  ELSEIF v_task = 'clean' THEN
    CALL ps_history.psh_drop_partitions(TO_SECONDS(UTC_TIMESTAMP()) - v_argument);
  ELSE
    CALL ps_history.psh_drop_partitions(0);
    CALL ps_history.psh_empty();
  END IF;
  COMMIT;
  UPDATE performance_schema.threads SET instrumented = v_counted WHERE processlist_id = CONNECTION_ID();
  COMMIT;
  IF @@GLOBAL.log_bin THEN
    SET SESSION sql_log_bin = v_log;
  END IF;
  SET SESSION time_zone = v_zone;
  DO RELEASE_LOCK('ps_history');
END $$

CREATE PROCEDURE ps_history.psh_clean()
MODIFIES SQL DATA COMMENT 'dyno kit history {version}'
BEGIN
  DECLARE v_s BIGINT;
  CALL ps_history.psh_period(
    (SELECT value FROM ps_history.psh_settings WHERE variable = 'retention_period'), v_s);
  CALL ps_history.psh_drop_partitions(TO_SECONDS(UTC_TIMESTAMP()) - v_s);
END $$

CREATE PROCEDURE ps_history.psh_empty()
MODIFIES SQL DATA COMMENT 'dyno kit history {version}'
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
    CALL ps_history.psh_run(CONCAT('TRUNCATE TABLE ps_history.`', v_table, '`'));
    SET v_done = 0;
    FETCH v_tables INTO v_table;
  END WHILE;
  CLOSE v_tables;
END $$

-- One at a time: who comes second is told, or waits so many seconds.
CREATE PROCEDURE ps_history.psh_lock(IN v_wait_s INT)
READS SQL DATA COMMENT 'dyno kit history {version}'
BEGIN
  IF IFNULL(GET_LOCK('ps_history', v_wait_s), 0) <> 1 THEN
    SIGNAL SQLSTATE '99999' SET MESSAGE_TEXT = 'another collection is under way';
  END IF;
END $$

CREATE PROCEDURE ps_history.collect()
MODIFIES SQL DATA COMMENT 'dyno kit history {version}'
BEGIN
  CALL ps_history.psh_lock(10);
  CALL ps_history.psh_alone('collect', 0);
END $$

CREATE PROCEDURE ps_history.psh_due(OUT v_is_due INT)
READS SQL DATA COMMENT 'dyno kit history {version}'
BEGIN
  DECLARE v_last DATETIME(6) DEFAULT (SELECT MAX(ts) FROM ps_history.psh_collections);
  DECLARE v_interval_s INT;
  SET v_interval_s = (SELECT value + 0 FROM ps_history.psh_settings WHERE variable = 'interval');
  SET v_is_due = v_last IS NULL
    OR v_last + INTERVAL v_interval_s SECOND <= UTC_TIMESTAMP(6) + INTERVAL 500000 MICROSECOND;
END $$

-- What the event calls each second. Somebody may have collected until it has the lock.
CREATE PROCEDURE ps_history.collect_at_interval()
MODIFIES SQL DATA COMMENT 'dyno kit history {version}'
BEGIN
  DECLARE v_is_due INT;
  CALL ps_history.psh_due(v_is_due);
  IF v_is_due AND GET_LOCK('ps_history', 0) = 1 THEN
    CALL ps_history.psh_due(v_is_due);
    IF v_is_due THEN
      CALL ps_history.psh_alone('collect', 0);
    ELSE
      DO RELEASE_LOCK('ps_history');
    END IF;
  END IF;
END $$

CREATE PROCEDURE ps_history.set_collect_interval(IN v_interval INT)
MODIFIES SQL DATA COMMENT 'dyno kit history {version}'
BEGIN
  IF v_interval IS NULL OR v_interval < 1 OR v_interval > 86400 THEN
    SIGNAL SQLSTATE '99999' SET MESSAGE_TEXT = 'Interval must be 1 to 86400 seconds';
  END IF;
  UPDATE ps_history.psh_settings SET value = v_interval WHERE variable = 'interval';
  COMMIT;
  SELECT 'Updated interval setting' AS message;
END $$

CREATE PROCEDURE ps_history.set_collection_interval(IN v_interval INT)
MODIFIES SQL DATA COMMENT 'dyno kit history {version}'
CALL ps_history.set_collect_interval(v_interval) $$

CREATE PROCEDURE ps_history.test_retention_period(IN v_period VARCHAR(64))
READS SQL DATA COMMENT 'dyno kit history {version}'
BEGIN
  DECLARE v_s BIGINT;
  CALL ps_history.psh_period(v_period, v_s);
  SELECT v_s AS seconds;
END $$

CREATE PROCEDURE ps_history.set_retention_period(IN v_period VARCHAR(64))
MODIFIES SQL DATA COMMENT 'dyno kit history {version}'
BEGIN
  DECLARE v_s BIGINT;
  CALL ps_history.psh_period(v_period, v_s);
  UPDATE ps_history.psh_settings SET value = v_period WHERE variable = 'retention_period';
  COMMIT;
  SELECT 'Updated retention period setting' AS message;
END $$

CREATE PROCEDURE ps_history.set_max_rows(IN v_rows BIGINT)
MODIFIES SQL DATA COMMENT 'dyno kit history {version}'
BEGIN
  IF v_rows IS NULL OR v_rows < 1 THEN
    SIGNAL SQLSTATE '99999' SET MESSAGE_TEXT = 'at least one row must be kept';
  END IF;
  UPDATE ps_history.psh_settings SET value = v_rows WHERE variable = 'max_rows';
  COMMIT;
  SELECT 'Updated max_rows setting' AS message;
END $$

CREATE PROCEDURE ps_history.cleanup_history(IN v_period VARCHAR(64))
MODIFIES SQL DATA COMMENT 'dyno kit history {version}'
BEGIN
  DECLARE v_s BIGINT;
  CALL ps_history.psh_period(v_period, v_s);
  CALL ps_history.psh_lock(10);
  CALL ps_history.psh_alone('clean', v_s);
END $$

CREATE PROCEDURE ps_history.auto_cleanup_history()
MODIFIES SQL DATA COMMENT 'dyno kit history {version}'
CALL ps_history.cleanup_history(
  (SELECT value FROM ps_history.psh_settings WHERE variable = 'retention_period')) $$

CREATE PROCEDURE ps_history.truncate_tables()
MODIFIES SQL DATA COMMENT 'dyno kit history {version}'
BEGIN
  CALL ps_history.psh_lock(10);
  CALL ps_history.psh_alone('empty', 0);
END $$
