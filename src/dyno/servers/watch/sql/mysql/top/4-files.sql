-- Files by the bytes read and written.
SELECT file_name AS file, round(sum_number_of_bytes_read / seconds() / 1e6, 2) AS read_mb_s,
  round(sum_number_of_bytes_write / seconds() / 1e6, 2) AS write_mb_s
FROM file_summary_by_instance WHERE sum_number_of_bytes_read + sum_number_of_bytes_write > 0
ORDER BY sum_number_of_bytes_read + sum_number_of_bytes_write DESC
