-- Memory by what it is for.
SELECT event_name, current_count_used AS current_count,
  current_number_of_bytes_used AS current_alloc,
  IFNULL(current_number_of_bytes_used / current_count_used, 0) AS current_avg_alloc,
  high_count_used AS high_count, high_number_of_bytes_used AS high_alloc,
  IFNULL(high_number_of_bytes_used / high_count_used, 0) AS high_avg_alloc
FROM {memory_summary_global_by_event_name} m WHERE current_number_of_bytes_used > 0
ORDER BY current_alloc DESC
