-- Statements that sessions were at, by the number of samples that met them.
SELECT left(current_statement, 100) AS query, user, state, count(*) AS samples, max(time) AS longest_s
FROM processlist GROUP BY ALL ORDER BY samples DESC, longest_s DESC
