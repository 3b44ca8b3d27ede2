-- The engine by which a workload finds its SQL in a table of words by engine. One that has no words
-- of its own there takes what sysbench's scripts would send it.

return function(words)
  return words[dyno.engine] and dyno.engine or words[dyno.dialect] and dyno.dialect or "pgsql"
end
