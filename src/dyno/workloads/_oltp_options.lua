-- The options of the oltp_* workloads, sysbench's names and defaults.

-- Those that every one of them has.
local MANDATORY = {"rand_type", "time", "warmup_time", "tables", "table_size", "auto_inc",
  "create_secondary"}

local function positive(_, text)
  return tonumber(text) > 0
end

local OPTIONS = {
  rand_type = {"Distribution of ids: uniform, gaussian, special, pareto or zipfian", "uniform"},
  time = {"Seconds to measure, unless events are set", 2},
  warmup_time = {"Seconds to play before measuring", 0.5},
  tables = {"Number of tables", 1, nil, positive},
  table_size = {"Rows per table", 10000, nil, positive},
  auto_inc = {"Let the engine number the rows", true},
  create_secondary = {"Index the column k after the load", true},
  range_size = {"Rows in a range query", 100},
  skip_trx = {"Leave out BEGIN and COMMIT", false},
  point_selects = {"Point selects per event", 10},
  simple_ranges = {"Simple range queries per event", 1},
  sum_ranges = {"SUM() range queries per event", 1},
  order_ranges = {"ORDER BY range queries per event", 1},
  distinct_ranges = {"DISTINCT range queries per event", 1},
  index_updates = {"Updates of the indexed column per event", 1},
  non_index_updates = {"Updates of an unindexed column per event", 1},
  delete_inserts = {"Deletes, each followed by an insert of the same id, per event", 1},
}

-- By name: those that all have, and these further ones.
return function(further)
  local options = {}
  for _, names in ipairs {MANDATORY, further} do
    for _, name in ipairs(names) do
      options[name] = OPTIONS[name]
    end
  end
  return options
end
