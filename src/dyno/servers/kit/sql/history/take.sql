-- The part history: one collection; the statements for each table are the server's own version's.

CREATE PROCEDURE ps_history.psh_take()
MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'dyno kit history {version}'
BEGIN
  DECLARE v_ts DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
  DECLARE v_begin DATETIME(6) DEFAULT SYSDATE(6);
  DECLARE v_start DATETIME;
  DECLARE v_previous DATETIME(6);
  DECLARE v_rows INT DEFAULT 0;
  SET v_previous = (SELECT MAX(ts) FROM ps_history.psh_collections);
  SET v_start = (SELECT server_start FROM ps_history.psh_collections WHERE ts = v_previous);
  -- Starts are known to a second. Who began after the last collection began anew, however soon after the one
  -- before; who did not is the same, though somebody emptied the table (replicas do as their source restarts).
  IF NOT EXISTS (SELECT 1 FROM ps_history.psh_boot) THEN
    INSERT IGNORE INTO ps_history.psh_boot
      SELECT 1, IF(began + INTERVAL 1 SECOND <= v_previous, v_start, GREATEST(began, IFNULL(v_start + INTERVAL 1 SECOND, began)))
        FROM (SELECT UTC_TIMESTAMP(6) - INTERVAL (variable_value + 0) SECOND AS began
                FROM {status} WHERE variable_name = 'UPTIME') AS up;
  END IF;
  SET v_start = (SELECT server_start FROM ps_history.psh_boot);
  IF v_previous >= v_ts THEN
    SIGNAL SQLSTATE '99999' SET MESSAGE_TEXT =
      'the last collection lies in the future: was the clock set back? wait, or call truncate_tables';
  END IF;
  START TRANSACTION;{tables}
  INSERT INTO ps_history.psh_collections
    VALUES (v_ts, v_start, v_previous, v_rows, TIMESTAMPDIFF(MICROSECOND, v_begin, SYSDATE(6)) DIV 1000);
  COMMIT;
END $$
