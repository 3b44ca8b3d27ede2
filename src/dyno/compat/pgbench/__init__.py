"""`dyno pgbench`: PostgreSQL's pgbench, by its own command line, environment, output, exit codes.

words       its command line              scripts    which scripts that names
server      the server that it names      tables     `-i`: its own tables made and filled
play        the driver, playing           board      what the clients count meanwhile
report      progress and the final report           log_files  `-l`
"""
