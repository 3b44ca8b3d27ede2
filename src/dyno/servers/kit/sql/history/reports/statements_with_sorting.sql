-- Statements that sorted rows.
SELECT digest_text AS query, schema_name AS db, count_star AS exec_count,
  sum_timer_wait AS total_latency, sum_sort_merge_passes AS sort_merge_passes,
  ROUND(IFNULL(sum_sort_merge_passes / count_star, 0)) AS avg_sort_merges,
  sum_sort_scan AS sorts_using_scans, sum_sort_range AS sort_using_range,
  sum_sort_rows AS rows_sorted, ROUND(IFNULL(sum_sort_rows / count_star, 0)) AS avg_rows_sorted,
  first_seen, last_seen, digest
FROM {events_statements_summary_by_digest} s WHERE sum_sort_rows > 0 ORDER BY total_latency DESC
