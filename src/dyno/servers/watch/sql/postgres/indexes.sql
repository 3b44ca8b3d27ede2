-- Indexes: scans, and rows found by them.
SELECT * FROM pg_stat_user_indexes ORDER BY idx_scan DESC
