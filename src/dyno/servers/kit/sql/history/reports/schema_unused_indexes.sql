-- Indexes that there are now and nothing used, but for primary keys and unique ones.
SELECT i.table_schema AS object_schema, i.table_name AS object_name, i.index_name
FROM information_schema.statistics i
LEFT JOIN {table_io_waits_summary_by_index_usage} u
  ON u.count_star > 0
  AND u.object_schema = CONVERT(i.table_schema USING utf8mb4) COLLATE utf8mb4_bin
  AND u.object_name = CONVERT(i.table_name USING utf8mb4) COLLATE utf8mb4_bin
  AND u.index_name = CONVERT(i.index_name USING utf8mb4) COLLATE utf8mb4_bin
WHERE u.index_name IS NULL AND i.non_unique = 1 AND i.seq_in_index = 1
  AND i.table_schema NOT IN ('mysql', 'sys', 'ps_history', 'sys_history',
    'performance_schema', 'information_schema')
ORDER BY 1, 2, 3
