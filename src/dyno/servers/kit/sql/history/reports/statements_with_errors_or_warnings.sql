-- Statements that ended with errors or warnings; the most errors first.
SELECT digest_text AS query, schema_name AS db, count_star AS exec_count, sum_errors AS errors,
  IFNULL(sum_errors / count_star, 0) * 100 AS error_pct, sum_warnings AS warnings,
  IFNULL(sum_warnings / count_star, 0) * 100 AS warning_pct, first_seen, last_seen, digest
FROM {events_statements_summary_by_digest} s WHERE sum_errors > 0 OR sum_warnings > 0
ORDER BY errors DESC, warnings DESC
