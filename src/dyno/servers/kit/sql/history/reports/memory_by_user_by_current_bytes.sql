-- Memory that each user holds.
SELECT IFNULL(user, 'background') AS user, SUM(current_count_used) AS current_count_used,
  SUM(current_number_of_bytes_used) AS current_allocated,
  IFNULL(SUM(current_number_of_bytes_used) / SUM(current_count_used), 0) AS current_avg_alloc,
  MAX(current_number_of_bytes_used) AS current_max_alloc,
  SUM(sum_number_of_bytes_alloc) AS total_allocated
FROM {memory_summary_by_user_by_event_name} m GROUP BY 1 ORDER BY current_allocated DESC
