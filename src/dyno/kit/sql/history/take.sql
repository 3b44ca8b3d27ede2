-- The part history: one collection; the statements for each table are the server's own version's.

CREATE PROCEDURE ps_history.psh_take()
MODIFIES SQL DATA COMMENT 'dyno kit history {version}'
BEGIN
  DECLARE v_ts DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
  DECLARE v_begin DATETIME(6) DEFAULT SYSDATE(6);
  DECLARE v_start DATETIME;
  DECLARE v_previous DATETIME(6);
  DECLARE v_rows INT DEFAULT 0;
  INSERT IGNORE INTO ps_history.psh_boot
    SELECT 1, UTC_TIMESTAMP() - INTERVAL (variable_value + 0) SECOND
      FROM {status} WHERE variable_name = 'UPTIME';
  SET v_start = (SELECT server_start FROM ps_history.psh_boot);
  SET v_previous = (SELECT MAX(ts) FROM ps_history.psh_collections);
  IF v_previous >= v_ts THEN
    SIGNAL SQLSTATE '99999' SET MESSAGE_TEXT =
      'the last collection lies in the future: was the clock set back? wait, or call truncate_tables';
  END IF;
  START TRANSACTION;{tables}
  INSERT INTO ps_history.psh_collections
    VALUES (v_ts, v_start, v_previous, v_rows, TIMESTAMPDIFF(MICROSECOND, v_begin, SYSDATE(6)) DIV 1000);
  COMMIT;
END $$
