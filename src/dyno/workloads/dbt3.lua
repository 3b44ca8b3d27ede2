-- Decision support, derived from TPC-H: eight tables, 22 queries one after the other (power), by
-- several users at once (throughput), and two functions that refresh the data. The answers are
-- checked where they are known. docs/workloads/dbt3.md lists what differs from TPC-H and why.

local tables = require("_dbt3_tables")
local queries = require("_dbt3_queries")
local parameters = require("_dbt3_parameters")
local answers = require("_dbt3_answers")
local known_answers = require("_dbt3_known_answers")
local refresh = require("_dbt3_refresh")

local function positive(_, text) return tonumber(text) > 0 end
local function not_negative(_, text) return tonumber(text) >= 0 end

sysbench.cmdline.options = {
  scale = {"TPC-H's scale factor, 0.01 or more: 6,000,000 lines, 1 GB of text for each unit", 0.01,
    nil, function(_, text) return tonumber(text) >= 0.01 end},
  indexes = {"Make indexes on foreign keys and dates after the load", true},
  check = {"on: compare the answers with the known ones, at scales where these are known; off; "
    .. "print: print their summaries, as _dbt3_known_answers.lua holds them", "on", nil,
    function(_, text) return text == "on" or text == "off" or text == "print" end},
  runs = {"Times that each query is run in the power test", 5, nil, positive},
  discard = {"How many of these, the first, are not measured", 2, nil, not_negative},
  streams = {"Users of the throughput test, each with all 22 queries; 0: none", 0, nil,
    not_negative},
  refresh = {"Insert and delete a thousandth of all orders, before and after the power test and "
    .. "once for each stream", true},
  query_limit = {"Seconds after which a query is given up as failed; 0: none", 0, nil,
    not_negative},
}

local BYTES = 1600000000 -- of a unit of scale, guessed: 1.0 GB of text, indexes, overhead

-- The specification's order of the power test (appendix A, stream 0).
local POWER = {14, 2, 9, 20, 6, 17, 18, 8, 21, 13, 3, 22, 16, 4, 11, 15, 1, 10, 19, 5, 7, 12}

local con
local played = 0 -- by this user in this phase

local function text_of(number, values)
  return (queries[number]:gsub("%$(%w+)", values))
end

local function validation_query(number)
  return text_of(number, parameters.validation(number))
end

-- The statement by which each server gives a query up; engines without one refuse the option.
local function limit_statement()
  local seconds = sysbench.opt.query_limit
  if dyno.engine == "postgres" then
    return ("SET statement_timeout = %d"):format(seconds * 1000)
  end
  local version = dyno.engine == "mysql" and con:query_row("SELECT VERSION()") or ""
  if version:find("MariaDB", 1, true) then
    return ("SET SESSION max_statement_time = %g"):format(seconds)
  end
  local major, minor = version:match("^(%d+)%.(%d+)")
  if major and tonumber(major) * 100 + tonumber(minor) >= 507 then
    return ("SET SESSION max_execution_time = %d"):format(seconds * 1000)
  end
  error(("query_limit: %s %s gives no query up after a time of our choice"):format(
    dyno.engine, version), 0)
end

local function connect()
  con = sysbench.sql.driver():connect()
  if sysbench.opt.query_limit > 0 and dyno.engine ~= "null" then
    con:query(limit_statement())
  end
end

function thread_init()
  connect()
end

function prepare()
  local con = sysbench.sql.driver():connect()
  tables.create(con)
  for _, it in ipairs(tables.LIST) do
    local loaded = tables.load(con, {table = it.name, scale = sysbench.opt.scale})
    dyno.count("loaded_" .. it.name, loaded)
  end
  for _, index in ipairs(sysbench.opt.indexes and tables.indexes() or {}) do
    con:query(index)
  end
end

function cleanup()
  tables.drop(sysbench.sql.driver():connect())
end

-- The answers ----------------------------------------------------------------------------------

local function known()
  return sysbench.opt.check == "on" and known_answers[sysbench.opt.scale]
end

function check_answer()
  played = played + 1
  local found = answers.summary(con:query(validation_query(played)))
  if sysbench.opt.check == "print" then
    return print(answers.text(found))
  end
  local difference = dyno.engine ~= "null"
    and answers.difference(played, found, known()[played])
  if difference then
    error(("Q%d is answered wrong at scale %g: %s"):format(
      played, sysbench.opt.scale, difference), 0)
  end
end

-- The power test -------------------------------------------------------------------------------

-- A query has a phase of its own, so that its costs are its own, too.
for _, number in ipairs(POWER) do
  _G["play_q" .. number] = function()
    con:query(validation_query(number))
  end
end

-- What is not measured: all queries, round after round.
function play_discarded()
  played = played + 1
  con:query(validation_query(POWER[(played - 1) % #POWER + 1]))
end

function insert_orders()
  refresh.insert(con, 1)
end

function delete_orders()
  refresh.delete(con, 1)
end

-- The throughput test --------------------------------------------------------------------------

local order

local function shuffled()
  local list = {unpack(POWER)}
  for at = #list, 2, -1 do
    local other = tonumber(sysbench.rand.uniform(1, at))
    list[at], list[other] = list[other], list[at]
  end
  return list
end

-- A user's 22 queries in an order of its own, and somewhere among them its refresh.
local function play_stream(stream)
  if not order then
    order = shuffled()
    if sysbench.opt.refresh then
      table.insert(order, tonumber(sysbench.rand.uniform(1, #order + 1)), "refresh")
    end
  end
  played = played + 1
  local number = order[played]
  if number == "refresh" then
    dyno.transaction(number)
    refresh.insert(con, stream + 1) -- the first set was the power test's
    refresh.delete(con, stream + 1)
  else
    dyno.transaction(("Q%02d"):format(number))
    con:query(text_of(number, parameters.drawn(number)))
  end
end

for stream = 1, sysbench.opt.streams do
  _G["play_s" .. stream] = function()
    play_stream(stream)
  end
end

-- What begins anew is the same event.
function sysbench.hooks.before_restart_event()
  played = played - 1
end

-- What is played, and what must hold -------------------------------------------------------------

-- A phase of one stream.
local function phase(name, run, events, more)
  local stream = {name = "query", run = run, connections = 1, unit = "query"}
  local it = {name = name, streams = {stream}, stop = {kind = "count", events = events},
    expected_s = events * sysbench.opt.scale * 2}
  for key, value in pairs(more or {}) do
    it[key] = value
  end
  return it
end

local function refresh_phase(name, run)
  local it = phase(name, run, 1)
  it.streams[1].unit, it.streams[1].role = "refresh", "writer"
  return it
end

-- Every user is a stream of its own.
local function throughput_phase()
  local opt = sysbench.opt
  local events = #POWER + (opt.refresh and 1 or 0)
  local it = phase("throughput", nil, events, {primary = {}})
  it.expected_s = it.expected_s * opt.streams
  for at = 1, opt.streams do
    local name = "s" .. at
    it.streams[at] = {name = name, run = "play_" .. name, connections = 1}
    it.primary[at] = {stream = name, metric = "rate_per_s"}
  end
  return it
end

function dyno.phases()
  local opt, list = sysbench.opt, {}
  local function add(it)
    list[#list + 1] = it
  end
  if known() or opt.check == "print" then
    add(phase("answers", "check_answer", #queries))
  end
  if opt.refresh then
    add(refresh_phase("rf1", "insert_orders"))
  end
  if opt.discard > 0 then
    add(phase("discarded", "play_discarded", #queries * opt.discard))
  end
  for _, number in ipairs(opt.runs > opt.discard and POWER or {}) do
    add(phase(("q%02d"):format(number), "play_q" .. number, opt.runs - opt.discard,
      {primary = {{stream = "query", metric = "latency_ns_mean"}}}))
  end
  if opt.refresh then
    add(refresh_phase("rf2", "delete_orders"))
  end
  if opt.streams > 0 then
    add(throughput_phase())
  end
  if list[1] then
    list[1].settle = true
  end
  return list
end

function dyno.ledger()
  local entries = {}
  for _, it in ipairs(tables.LIST) do
    entries[#entries + 1] = {name = it.name .. ": rows = loaded + inserted - deleted",
      sql = "SELECT COUNT(*) FROM " .. it.name,
      counters = {["loaded_" .. it.name] = 1, ["inserted_" .. it.name] = 1,
        ["deleted_" .. it.name] = -1}}
  end
  return entries
end

function dyno.plans()
  local entries = {}
  for number = 1, #queries do
    entries[number] = {name = ("Q%02d"):format(number), sql = validation_query(number)}
  end
  return entries
end

function dyno.size_bytes()
  return BYTES * sysbench.opt.scale
end
