-- Status variables and InnoDB's metrics, those that are not 0; between two times, by how much each grew.
SELECT lower(variable_name) AS Variable_name, coalesce(variable_word, variable_value::VARCHAR) AS Variable_value,
  'Global Status' AS Type FROM global_status
UNION ALL
SELECT name, "count"::VARCHAR, 'InnoDB Metrics - ' || subsystem FROM innodb_metrics
ORDER BY Type, Variable_name
