-- What the oltp_* workloads share: sysbench's tables, options and statements (its manual's names
-- and defaults, our own code). Each workload names the kinds of statements in one of its events.

local options = require("_oltp_options")
local statements = require("_oltp_statements")
local sbtest = require("_oltp_tables")
local written = require("_oltp_written")

local oltp = {}

-- Where nothing is written, the same questions have the same answers on every candidate.
local ANSWERS = {
  "SELECT id, k, c, pad FROM sbtest1 WHERE id BETWEEN 1 AND 100",
  "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN 101 AND 200 ORDER BY c",
  "SELECT MIN(id), MAX(id), MIN(k), MAX(k) FROM sbtest1",
}

local function set(list)
  local found = {}
  for _, each in ipairs(list) do found[each] = true end
  return found
end

local function ledger(spec)
  local entries = {sbtest.rows()}
  if spec.sums_k or not spec.writes then
    entries[2] = {name = "sum of k = loaded + inserted + updated", sql = sbtest.total("SUM(k)"),
      counters = {k_loaded = 1, k_inserted = 1, updated = 1}}
  end
  for i, sql in ipairs(spec.writes and {} or ANSWERS) do
    entries[#entries + 1] = {name = "answer " .. i, sql = sql, counters = {}}
  end
  if spec.writes then
    entries[#entries + 1] = sbtest.whole_texts()
  end
  for _, entry in ipairs(written.entries(set(spec.kinds))) do
    entries[#entries + 1] = entry
  end
  return entries
end

-- In an open loop the rate is given, so the latency is what a verdict can rest on.
local function primary()
  local open = sysbench.opt.rate > 0
  return {stream = "event", metric = open and "latency_ns_p99" or "rate_per_s"}
end

local function phases(spec)
  local opt = sysbench.opt
  local stream = {name = "event", run = "event", connections = opt.threads,
    role = spec.writes and "writer" or "reader"}
  if opt.rate > 0 then
    stream.pace = {kind = opt.arrivals, rate_per_s = opt.rate}
  end
  local stop = opt.events > 0 and {kind = "count", events = opt.events}
    or {kind = "time", duration_s = opt.time}
  return {{name = "run", streams = {stream}, stop = stop, warmup_s = opt.warmup_time,
    stationary = not spec.drifts, primary = {primary()},
    expected_s = opt.warmup_time + (stop.duration_s or opt.events / 50000)}}
end

-- What one event plays: kinds of statements, each as often as its option says, on one random
-- table per kind, as in sysbench. The driver rolls back what a failed transaction left open.
local function items(spec)
  local con, list = sysbench.sql.driver():connect(), {}
  for i, kind in ipairs(spec.kinds) do
    local tables = {}
    for number = 1, sysbench.opt.tables do
      tables[number] = statements.build(con, kind, number, spec.sums_k)
    end
    list[i] = dyno.one_of(tables)
  end
  if spec.transaction and not sysbench.opt.skip_trx then
    table.insert(list, 1, {con:prepare("BEGIN")})
    table.insert(list, {con:prepare("COMMIT")})
    list.atomic = true
  end
  return list
end

-- Makes a script of a spec:
--   kinds        what an event plays, in order (keys of KINDS)
--   options      the further options (keys of OPTIONS) that the script has; a kind without its
--                option is played once
--   transaction  an event is one transaction, unless `skip_trx`
--   writes       the stream's role is writer
--   drifts       the tables grow or shrink, so the phase is not stationary
--   sums_k       nothing deletes, so that each update and insert changes one row; they count what
--                they add to the sum of k, as `k_inserted` and `updated`
function oltp.workload(spec)
  sysbench.cmdline.options = options(spec.options or {})
  event = dyno.event(function() return items(spec) end)
  prepare, cleanup = sbtest.make, sbtest.drop
  dyno.phases = function() return phases(spec) end
  dyno.ledger = function() return ledger(spec) end
  dyno.size_bytes = sbtest.size_bytes
end

return oltp
