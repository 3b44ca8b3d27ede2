-- Load: a second's share of what the server counted.
SELECT datname AS database, round(xact_commit / seconds(), 1) AS commits, round(xact_rollback / seconds(), 1) AS rollbacks,
  round(blks_read / seconds(), 1) AS blocks_read, round(tup_fetched / seconds(), 1) AS rows_fetched,
  round((tup_inserted + tup_updated + tup_deleted) / seconds(), 1) AS rows_written
FROM pg_stat_database WHERE xact_commit + xact_rollback > 0 ORDER BY commits DESC
