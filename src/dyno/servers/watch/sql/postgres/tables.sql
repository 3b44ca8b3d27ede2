-- Tables: scans, rows, vacuums, blocks.
SELECT t.*, heap_blks_read, heap_blks_hit, idx_blks_read, idx_blks_hit
FROM pg_stat_user_tables t LEFT JOIN pg_statio_user_tables io USING (schemaname, relname)
ORDER BY coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) DESC
