-- Statements, normalised, with all that is counted of them; the dearest first.
SELECT query, dbname, username, calls, exec_time_us, per(exec_time_us, calls) AS avg_us, max_exec_us, rows, shared_blks_hit,
  shared_blks_read, shared_blks_dirtied, shared_blks_written, temp_blks_read, temp_blks_written, wal_records, wal_bytes, queryid
FROM pg_stat_statements ORDER BY exec_time_us DESC
