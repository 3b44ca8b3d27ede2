-- pgbench's read-only transaction: an account's balance by its key.
-- title: read an account's balance
\set aid random(1, 100000 * :scale)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
