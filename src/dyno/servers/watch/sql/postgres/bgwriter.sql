-- The background writer.
SELECT * FROM pg_stat_bgwriter
