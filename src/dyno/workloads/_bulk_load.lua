-- Loads rows (`dyno.rows`) into a table by the engine's bulk command; how many.

local COMMAND = {
  mysql = "LOAD DATA LOCAL INFILE 'rows' INTO TABLE %s",
  pgsql = "COPY %s FROM STDIN",
}

return function(con, name, rows)
  local command = COMMAND[dyno.dialect]
  if not command then
    error(("no bulk load is known in the dialect '%s': mysql or pgsql"):format(dyno.dialect), 0)
  end
  return con:load(command:format(name), rows).nrows
end
