-- Databases: transactions, rows, blocks.
SELECT datname, numbackends, xact_commit, xact_rollback, blks_read, blks_hit, tup_returned, tup_fetched, tup_inserted, tup_updated,
  tup_deleted, conflicts, temp_files, temp_bytes, deadlocks, sessions FROM pg_stat_database ORDER BY xact_commit DESC
