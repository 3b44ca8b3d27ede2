-- Some forty small tests of one loaded table, one after the other: point and range queries, covered
-- by an index and not, by the primary key and a secondary one, before and after a row of writes; a
-- verdict for each. The suite by which regressions of a server from version to version are hunted.

local options = require("_oltp_options")
local sbtest = require("_oltp_tables")
local tests = require("_micro_tests")

-- After the load, and after the writes.
local SETTLED = {["point-query.pre"] = true, ["point-query.post"] = true}

-- All tests of an engine that knows keys and values alone.
local BY_KEY = "by-key"

local function named(text)
  local known, chosen = {}, {}
  for _, test in ipairs(tests.all()) do
    known[test.name] = test
    chosen[test.name] = text == BY_KEY and tests.is_by_key(test) or nil
  end
  if text == BY_KEY then return chosen end
  for name in text:gmatch("[^,%s]+") do
    if not known[name] then return nil, name end
    chosen[name] = true
  end
  return next(chosen) and chosen
end

sysbench.cmdline.options = options({})
sysbench.cmdline.options.time = {"Seconds to measure each test", 1.5}
sysbench.cmdline.options.warmup_time = {"Seconds to play each before measuring", 0.2}
sysbench.cmdline.options.tests = {"Names of tests, with commas between; all: every one; "
  .. "by-key: those that need no index, sort and sum", "all", nil,
  function(_, text) return text == "all" or named(text) ~= nil end}

local function chosen()
  local list, wanted = {}, sysbench.opt.tests ~= "all" and named(sysbench.opt.tests)
  for _, test in ipairs(tests.all()) do
    if not wanted or wanted[test.name] then list[#list + 1] = test end
  end
  return list
end

local function function_of(test)
  return "play_" .. test.name:gsub("[^%w]", "_")
end

-- One event: the test's statements on one of the tables, in a transaction where it is one.
local function event_of(test)
  return dyno.event(function()
    local con, each = sysbench.sql.driver():connect(), {}
    for number = 1, sysbench.opt.tables do
      each[number] = tests.items(test, con, number)
    end
    local list = {dyno.one_of(each)}
    if test.whole then
      table.insert(list, 1, {con:prepare("BEGIN")})
      table.insert(list, {con:prepare("COMMIT")})
      list.atomic = true
    end
    return list
  end)
end

for _, test in ipairs(tests.all()) do
  _G[function_of(test)] = event_of(test)
end

function dyno.phases()
  local opt, list = sysbench.opt, {}
  if opt.rate > 0 then
    error("micro plays each test as fast as it goes: rate has to be 0")
  end
  for at, test in ipairs(chosen()) do
    local stop = opt.events > 0 and {kind = "count", events = opt.events}
      or {kind = "time", duration_s = opt.time}
    list[at] = {name = test.name, title = test.title, group = test.group, stop = stop,
      warmup_s = opt.warmup_time,
      streams = {{name = "event", run = function_of(test), connections = opt.threads,
        role = test.is_write and "writer" or "reader"}},
      stationary = not test.drifts, settle = at == 1 or SETTLED[test.name],
      primary = {{stream = "event", metric = "rate_per_s"}},
      expected_s = opt.warmup_time + (stop.duration_s or opt.events / 10000)}
  end
  return list
end

function prepare()
  local opt = sysbench.opt
  opt.create_secondary = opt.create_secondary and opt.tests ~= BY_KEY
  sbtest.make()
end

cleanup, dyno.size_bytes = sbtest.drop, sbtest.size_bytes

dyno.ledger = function()
  return {sbtest.rows(), sbtest.whole_texts(), unpack(tests.written(chosen()))}
end

dyno.plans = function() return tests.plans(chosen()) end
