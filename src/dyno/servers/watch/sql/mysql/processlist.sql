-- Sessions that were at work, each with its statement.
SELECT ts AS moment, thd_id, conn_id, user, db, command, state, time, current_statement, statement_latency, lock_latency,
  rows_examined, rows_sent, rows_affected, tmp_tables, tmp_disk_tables, full_scan
FROM processlist ORDER BY moment, time DESC, thd_id
