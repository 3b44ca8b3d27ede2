-- Statements that made temporary tables, in memory or on disk.
SELECT digest_text AS query, schema_name AS db, count_star AS exec_count,
  sum_timer_wait AS total_latency, sum_created_tmp_tables AS memory_tmp_tables,
  sum_created_tmp_disk_tables AS disk_tmp_tables,
  ROUND(IFNULL(sum_created_tmp_tables / count_star, 0)) AS avg_tmp_tables_per_query,
  ROUND(IFNULL(sum_created_tmp_disk_tables / sum_created_tmp_tables, 0) * 100)
    AS tmp_tables_to_disk_pct, first_seen, last_seen, digest
FROM {events_statements_summary_by_digest} s WHERE sum_created_tmp_tables > 0
ORDER BY disk_tmp_tables DESC, memory_tmp_tables DESC
