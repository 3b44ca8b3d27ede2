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

-- One line to be read by people, as sysbench writes it.
function sysbench.report_default(stat)
   local it = rates(stat)
   local form = "[ %.0fs ] thds: %d tps: %.2f qps: %.2f (r/w/o: %.2f/%.2f/%.2f) "
      .. "lat (ms,%d%%): %.2f err/s %.2f reconn/s: %.2f"
   print(form:format(stat.time_total, stat.threads_running, it.events, it.queries, it.reads,
      it.writes, it.other, sysbench.opt.percentile, it.latency_ms, it.errors, it.reconnects))
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

-- A list of JSON objects, with sysbench's keys, in its layout; closed when its hook has been called
-- for the last time.
local is_open = false

local function close_list()
   if is_open then
      io.stderr:write("\n]\n")
      is_open = false
   end
end

function sysbench.report_json(stat)
   local it = rates(stat)
   local form = [[
  {
    "time": %4.0f,
    "threads": %d,
    "tps": %4.2f,
    "qps": {
      "total": %4.2f,
      "reads": %4.2f,
      "writes": %4.2f,
      "other": %4.2f
    },
    "latency": %4.2f,
    "errors": %4.2f,
    "reconnects": %4.2f
  }]]
   io.stderr:write(is_open and ",\n" or "[\n", form:format(stat.time_total, stat.threads_running,
      it.events, it.queries, it.reads, it.writes, it.other, it.latency_ms, it.errors,
      it.reconnects))
   is_open = true
end

local function is_hooked(name)
   return type(sysbench.hooks[name]) == "function"
end

function raw.reports()
   return is_hooked("report_intermediate") or is_hooked("report_cumulative")
end

-- Calls a report hook; false if it failed, nil where the script has none.
function raw.report_to(name, stat)
   if not is_hooked(name) then
      return nil
   end
   local is_last = stat.is_cumulative
   -- sysbench's `stat` has numbers only
   stat.is_cumulative, stat.is_sql, stat.users, stat.histogram = nil, nil, nil, nil
   if is_last then
      close_list()
   end
   local ok, problem = xpcall(sysbench.hooks[name], thrown.locate, stat)
   if is_last then
      close_list()
   end
   if not ok then
      raw.report(thrown.text_of(problem), false)
   end
   return ok
end
