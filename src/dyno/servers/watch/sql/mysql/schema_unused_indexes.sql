-- Indexes that nothing used; that they are not unique is not recorded, so unique ones are among them.
SELECT object_schema, object_name, index_name FROM table_io_waits_summary_by_index_usage
WHERE index_name IS NOT NULL AND count_star = 0 AND object_schema <> 'mysql' AND index_name <> 'PRIMARY'
ORDER BY object_schema, object_name
