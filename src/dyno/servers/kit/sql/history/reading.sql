-- The part history: views of the sys schema as of a time and between two. Statements end with $$.
--
-- sys_history.reports has a statement for each (dyno kit makes it for the columns that this server has), with {since} and {until} in
-- place of the times of collections. Who calls these has no rights but his own.

CREATE DATABASE IF NOT EXISTS sys_history DEFAULT CHARACTER SET utf8mb4 $$

CREATE TABLE sys_history.reports (
  name VARCHAR(64) CHARACTER SET ascii NOT NULL PRIMARY KEY,
  shows VARCHAR(200) NOT NULL,
  as_of_sql MEDIUMTEXT NOT NULL,
  between_sql MEDIUMTEXT NOT NULL
) ENGINE=InnoDB COMMENT 'dyno kit history' $$

-- Whose turn it is to collect, and why the last one failed. It lies here, where readers have rights on single tables only.
CREATE TABLE sys_history.psh_turn (
  one TINYINT NOT NULL PRIMARY KEY,
  connection_id BIGINT UNSIGNED NOT NULL DEFAULT 0,
  since DATETIME NOT NULL DEFAULT '2000-01-01',
  problem VARCHAR(500) CHARACTER SET utf8 NOT NULL DEFAULT ''
) ENGINE=MEMORY COMMENT 'dyno kit history' $$

CREATE PROCEDURE sys_history.psh_collection_at(INOUT v_at DATETIME(6))
READS SQL DATA SQL SECURITY INVOKER COMMENT 'dyno kit history {version}'
BEGIN
  SET v_at = (SELECT MAX(ts) FROM ps_history.psh_collections WHERE ts <= IFNULL(v_at, UTC_TIMESTAMP(6)));
  IF v_at IS NULL THEN
    SIGNAL SQLSTATE '99999' SET MESSAGE_TEXT = 'nothing was collected until then; times are UTC';
  END IF;
END $$

CREATE PROCEDURE sys_history.psh_answer(IN v_sql LONGTEXT, IN v_since DATETIME(6), IN v_until DATETIME(6))
READS SQL DATA SQL SECURITY INVOKER COMMENT 'dyno kit history {version}'
BEGIN
  IF v_sql IS NULL THEN
    SIGNAL SQLSTATE '99999' SET MESSAGE_TEXT =
      'no such report: SELECT name, shows FROM sys_history.reports lists them';
  END IF;
  SET @psh_command = REPLACE(REPLACE(v_sql, '{until}', v_until), '{since}', IFNULL(v_since, ''));
  PREPARE psh_command FROM @psh_command;
  SET @psh_command = NULL;
  EXECUTE psh_command;
  DEALLOCATE PREPARE psh_command;
END $$

-- A report as it stood at the last collection until then; NULL is now.
CREATE PROCEDURE sys_history.as_of(IN v_until DATETIME(6), IN v_report VARCHAR(64))
READS SQL DATA SQL SECURITY INVOKER COMMENT 'dyno kit history {version}'
BEGIN
  CALL sys_history.psh_collection_at(v_until);
  CALL sys_history.psh_answer(
    (SELECT as_of_sql FROM sys_history.reports WHERE name = v_report), NULL, v_until);
END $$

-- A report of what was counted between the last collections until each of two times.
CREATE PROCEDURE sys_history.diff(IN v_since DATETIME(6), IN v_until DATETIME(6), IN v_report VARCHAR(64))
READS SQL DATA SQL SECURITY INVOKER COMMENT 'dyno kit history {version}'
BEGIN
  CALL sys_history.psh_collection_at(v_until);
  CALL sys_history.psh_collection_at(v_since);
  IF v_since >= v_until THEN
    SIGNAL SQLSTATE '99999' SET MESSAGE_TEXT = 'nothing was collected between these times; they are UTC';
  END IF;
  CALL sys_history.psh_answer(
    (SELECT between_sql FROM sys_history.reports WHERE name = v_report), v_since, v_until);
END $$
