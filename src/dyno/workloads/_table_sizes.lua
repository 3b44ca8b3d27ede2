-- How much of the disk a table and its indexes take, as the engine says it.

local SIZES = {
  -- Statistics are asked for anew: those that are kept may be of the empty table.
  mysql = function(con, name)
    con:query("ANALYZE TABLE " .. name)
    return con:query_row(("SELECT data_length, index_length FROM information_schema.tables "
      .. "WHERE table_schema = DATABASE() AND table_name = '%s'"):format(name))
  end,
  postgres = function(con, name)
    return con:query_row(("SELECT pg_table_size('%s'), pg_indexes_size('%s')"):format(name, name))
  end,
}

-- Counts `data_bytes` and `index_bytes` of the table; neither where the engine says neither.
return function(con, name)
  if SIZES[dyno.engine] then
    local data, index = SIZES[dyno.engine](con, name)
    dyno.count("data_bytes", tonumber(data))
    dyno.count("index_bytes", tonumber(index))
  end
end
