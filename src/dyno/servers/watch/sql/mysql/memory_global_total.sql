-- Memory altogether.
SELECT sum(current_number_of_bytes_used) AS total_allocated FROM memory_summary_global_by_event_name
