-- Megabytes a second of files
SELECT bucket(ts) AS moment, 'read' AS name, sum(sum_number_of_bytes_read) / 1e6 / width() AS value FROM file_summary_by_event_name GROUP BY ALL
UNION ALL
SELECT bucket(ts), 'written', sum(sum_number_of_bytes_write) / 1e6 / width() FROM file_summary_by_event_name GROUP BY ALL
ORDER BY moment
