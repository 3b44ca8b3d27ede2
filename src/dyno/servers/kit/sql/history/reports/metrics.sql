-- Status variables that are not 0; between two times, by how much each grew.
SELECT LOWER(variable_name) AS Variable_name, variable_value AS Variable_value,
  'Global Status' AS Type, 'YES' AS Enabled
FROM {global_status} s ORDER BY 1
