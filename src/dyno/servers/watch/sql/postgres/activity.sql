-- Sessions that were at work, each with its statement.
SELECT ts AS moment, pid, datname, usename, client, state, wait, query_us, transaction_us, query FROM pg_stat_activity ORDER BY moment, query_us DESC
