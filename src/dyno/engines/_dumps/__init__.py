"""Dumps as people have them, made one plain SQL file: compressed ones, `pg_dump`'s archives,
`mydumper`'s folders. The driver reads and plays that file (`crates/driver/src/dump/`)."""
