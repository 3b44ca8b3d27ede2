-- Derived from TPC-C: nine tables, five transactions in the standard mix; rate in NOPM, new orders
-- committed per minute, which is not comparable with tpmC. The twelve consistency conditions are
-- held to after every run; docs/guides/workloads/tpcc-clients.md says what differs.
-- title: order-entry transactions

sysbench.cmdline.options = require("_tpcc_options")

local checks = require("_tpcc_checks")
local columns = require("_tpcc_columns")
local input = require("_tpcc_input")
local pauses = require("_tpcc_pauses")
local population = require("_tpcc_population")
local recheck = require("_tpcc_recheck")
local schema = require("_tpcc_schema")

-- Tables and indexes of a warehouse, and what lies beside all of them, on the engine where they are
-- largest (docs/evidence/code-choices.md).
local WAREHOUSE_BYTES, BESIDE_BYTES = 104e6, 17e6

-- In our own process there is no round trip to save.
local EMBEDDED = {sqlite = true, duckdb = true}

local MANY = 10 -- begun by a user: that all of these fail is no chance

local con, play, drawn, following, is_begun_anew
local begun, ended = {}, {} -- of each transaction, by its name

-- Between two transactions a user rests; the next one is drawn with the last, because how long it
-- takes to key in is part of that.
local function draw()
  if sysbench.opt.pauses == 0 then
    return input.draw()
  end
  local now = following
  following = input.draw()
  dyno.rest(pauses.between(now.kind, following.kind))
  return now
end

-- A transaction that is begun anew is the same one: were it drawn again, those that meet others
-- would grow rare.
function sysbench.hooks.before_restart_event()
  is_begun_anew = true
end

function event()
  if not is_begun_anew then
    drawn = draw()
    begun[drawn.kind] = (begun[drawn.kind] or 0) + 1
  end
  is_begun_anew = false
  dyno.transaction(drawn.kind)
  play[drawn.kind](drawn)
  ended[drawn.kind] = true
end

-- A schema that refuses every New-Order makes the others faster; nobody may take that for speed.
local function count_failed_kinds()
  for kind, count in pairs(begun) do
    if count >= MANY and not ended[kind] then
      dyno.count("all_failed_" .. kind)
    end
  end
end

function thread_init()
  con = sysbench.sql.driver():connect()
  schema.set_up_connection(con)
  play = require(sysbench.opt.batched and "_tpcc_batched" or "_tpcc_transactions").open(con)
  if sysbench.opt.pauses > 0 then
    following = input.draw()
    dyno.rest(pauses.before(input.draw().kind, following.kind))
  end
end

function thread_done()
  count_failed_kinds()
  recheck.report(con)
  con:disconnect()
end

function prepare()
  con = sysbench.sql.driver():connect()
  schema.set_up_connection(con)
  schema.create_tables(con)
  population.load(con)
  schema.create_indexes(con)
  checks.refuse_wrong_population(con)
  columns.count_stock(con)
end

function cleanup()
  schema.drop_tables(sysbench.sql.driver():connect())
end

-- In an open loop the rate is given, so the latency is what a verdict can rest on.
function dyno.phases()
  local opt = sysbench.opt
  local stream = {name = "tpcc", run = "event", connections = opt.threads, role = "writer",
    unit = "transaction"}
  if opt.rate > 0 and opt.pauses > 0 then
    error("tpcc: pauses are between a user's transactions, which at a rate are due by that: "
      .. "set one of both", 0)
  elseif opt.batched and EMBEDDED[dyno.engine] then
    error("tpcc: batched saves round trips, and " .. dyno.engine .. " has none: leave it off", 0)
  end
  if opt.rate > 0 then
    stream.pace = {kind = opt.arrivals, rate_per_s = opt.rate}
  end
  local stop = opt.events > 0 and {kind = "count", events = opt.events}
    or {kind = "time", duration_s = opt.time}
  return {{name = "run", streams = {stream}, stop = stop, warmup_s = opt.warmup_time,
    primary = {{stream = "tpcc", metric = opt.rate > 0 and "latency_ns_p99" or "rate_per_s"}},
    expected_s = opt.warmup_time + (stop.duration_s
      or opt.events * (1 / 500 + opt.pauses * pauses.MEAN_S / opt.threads))}}
end

dyno.ledger = checks.ledger

function dyno.size_bytes()
  local opt = sysbench.opt
  -- a third of a warehouse is its stock, a row for each item; the rest goes by its customers
  local share = (2 * opt.customers / 3000 + opt.items / 100000) / 3
  return math.floor(opt.warehouses * WAREHOUSE_BYTES * share + BESIDE_BYTES * opt.items / 100000)
end
