-- Statements that ended in an error or with warnings.
SELECT digest_text AS query, schema_name AS db, count_star AS exec_count, sum_errors AS errors,
  100 * per(sum_errors, count_star) AS error_pct, sum_warnings AS warnings,
  100 * per(sum_warnings, count_star) AS warning_pct, first_seen, last_seen, digest
FROM events_statements_summary_by_digest WHERE sum_errors > 0 OR sum_warnings > 0 ORDER BY errors DESC, warnings DESC
