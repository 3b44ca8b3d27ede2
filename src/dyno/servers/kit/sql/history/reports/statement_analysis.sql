-- Statements, normalised, with all that is counted of them; the dearest first.
SELECT digest_text AS query, schema_name AS db,
  IF(sum_no_good_index_used > 0 OR sum_no_index_used > 0, '*', '') AS full_scan,
  count_star AS exec_count, count_secondary AS exec_secondary_count, sum_errors AS err_count,
  sum_warnings AS warn_count, sum_timer_wait AS total_latency, max_timer_wait AS max_latency,
  IFNULL(sum_timer_wait DIV count_star, 0) AS avg_latency, sum_lock_time AS lock_latency,
  sum_cpu_time AS cpu_latency, sum_rows_sent AS rows_sent,
  IFNULL(ROUND(sum_rows_sent / count_star), 0) AS rows_sent_avg, sum_rows_examined AS rows_examined,
  IFNULL(ROUND(sum_rows_examined / count_star), 0) AS rows_examined_avg,
  sum_rows_affected AS rows_affected,
  IFNULL(ROUND(sum_rows_affected / count_star), 0) AS rows_affected_avg,
  sum_created_tmp_tables AS tmp_tables, sum_created_tmp_disk_tables AS tmp_disk_tables,
  sum_sort_rows AS rows_sorted, sum_sort_merge_passes AS sort_merge_passes,
  max_controlled_memory, max_total_memory, digest, first_seen, last_seen
FROM {events_statements_summary_by_digest} s ORDER BY total_latency DESC
