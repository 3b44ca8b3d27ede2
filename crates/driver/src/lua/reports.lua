-- Reports while a phase runs: sysbench's, and the hooks by which a script makes its own.
local raw, thrown = ...

-- What a report hook may call with its `stat`. The interval's numbers become rates per second.
local function rates(stat)
   local function per_s(n)
      return stat.time_interval > 0 and n / stat.time_interval or 0
   end
   return { events = per_s(stat.events), queries = per_s(stat.reads + stat.writes + stat.other),
      reads = per_s(stat.reads), writes = per_s(stat.writes), other = per_s(stat.other),
      errors = per_s(stat.errors), reconnects = per_s(stat.reconnects),
      latency_ms = stat.latency_pct * 1000 }
end

-- One line to be read by people.
function sysbench.report_default(stat)
   local it = rates(stat)
   local form = "%.0f s, %d threads: %.2f events/s, %.2f queries/s, %.2f errors/s, latency %.2f ms"
   print(form:format(stat.time_total, stat.threads_running, it.events, it.queries, it.errors,
      it.latency_ms))
end

-- Seconds, threads, then per second: events, queries, reads, writes, other; latency in ms; errors
-- and reconnects per second. The columns are sysbench's.
function sysbench.report_csv(stat)
   local it = rates(stat)
   local cells = { ("%.0f"):format(stat.time_total), ("%d"):format(stat.threads_running) }
   for _, name in ipairs { "events", "queries", "reads", "writes", "other", "latency_ms", "errors",
      "reconnects" } do
      cells[#cells + 1] = ("%.2f"):format(it[name])
   end
   print(table.concat(cells, ","))
end

-- One JSON object a line, with sysbench's keys; sysbench wraps them in one list.
function sysbench.report_json(stat)
   local it = rates(stat)
   local function pair(key, number)
      return ('"%s": %.2f'):format(key, number)
   end
   local qps = { pair("total", it.queries), pair("reads", it.reads), pair("writes", it.writes),
      pair("other", it.other) }
   print("{" .. table.concat({
      ('"time": %.0f'):format(stat.time_total), ('"threads": %d'):format(stat.threads_running),
      pair("tps", it.events), '"qps": {' .. table.concat(qps, ", ") .. "}",
      pair("latency", it.latency_ms), pair("errors", it.errors), pair("reconnects", it.reconnects),
   }, ", ") .. "}")
end

local function is_hooked(name)
   return type(sysbench.hooks[name]) == "function"
end

function raw.reports()
   return is_hooked("report_intermediate") or is_hooked("report_cumulative")
end

-- Calls a report hook, where the script set it; false if it failed.
function raw.report_to(name, stat)
   if not is_hooked(name) then
      return true
   end
   local ok, problem = xpcall(sysbench.hooks[name], thrown.locate, stat)
   if not ok then
      raw.report(thrown.text_of(problem), false)
   end
   return ok
end
