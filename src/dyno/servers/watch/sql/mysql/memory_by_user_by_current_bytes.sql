-- Memory that each user holds.
SELECT coalesce(user, 'background') AS user, sum(current_count_used) AS current_count_used, sum(current_number_of_bytes_used) AS current_allocated,
  per(sum(current_number_of_bytes_used), sum(current_count_used)) AS current_avg_alloc,
  max(current_number_of_bytes_used) AS current_max_alloc, sum(sum_number_of_bytes_alloc) AS total_allocated
FROM memory_summary_by_user_by_event_name GROUP BY ALL ORDER BY current_allocated DESC
