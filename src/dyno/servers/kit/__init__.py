"""The kit: functions and stored procedures put into servers of MySQL's family, and taken out again.

It serves people who never run a benchmark: nothing here knows of runs and trials. A *part* is what
is installed by name (`parts`); its functions come from one library for all servers, `dyno_kit.so`
(`library`, from `crates/kit`), its tables and procedures from a script in `sql/`. `verbs` installs,
upgrades and uninstalls; `server` is what it asks of a server before and after.
"""
