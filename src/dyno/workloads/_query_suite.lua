-- What the workloads of decision support (dbt3, ssb) have in common: queries played one after the
-- other, a phase each (power), or by several users at once (throughput); answers held against the
-- known ones; a time after which a query is given up.
--
-- A suite is {name, names, order, text, known}: the names of its queries ("1.1") by number; the
-- order of their numbers in which they are played; text(number), the query whose answer is known;
-- known, those answers by scale. It may have drawn(number), a query with values drawn anew;
-- averages, columns of averages by number (_answers.lua); extra(con, stream) with extra_name, what
-- a user of the throughput test plays once beside its queries.

local answers = require("_answers")

local suite = {}

local function positive(_, text) return tonumber(text) > 0 end
local function not_negative(_, text) return tonumber(text) >= 0 end

local OPTIONS = {
  check = {"on: compare the answers with the known ones, at scales where these are known; off; "
    .. "print: print their summaries, as the script's known answers are written, and write them to "
    .. "the file `answers`, if one is named", "on", nil,
    function(_, text) return text == "on" or text == "off" or text == "print" end},
  answers = {"A file that check=print wrote, on an engine that is trusted and at the same scale: "
    .. "the known answers of any scale", ""},
  runs = {"Times that each query is run in the power test", 5, nil, positive},
  discard = {"How many of these, the first, are not measured", 2, nil, not_negative},
  streams = {"Users of the throughput test, each with all queries; 0: none", 0, nil,
    not_negative},
  query_limit = {"Seconds after which a query is given up as failed; 0: none", 0, nil,
    not_negative},
}

-- The options of all suites and those of one.
function suite.options(own)
  for name, option in pairs(OPTIONS) do
    own[name] = own[name] or option
  end
  return own
end

local con
local played = 0 -- by this user in this phase

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

-- A user's connection, once `thread_init` was called.
function suite.connection()
  return con
end

-- The answers ----------------------------------------------------------------------------------

local from_file

-- What a file of answers is of.
local function title(it)
  return it.name .. " scale " .. sysbench.opt.scale
end

local function known(it)
  local path = sysbench.opt.answers
  if sysbench.opt.check ~= "on" then
    return nil
  end
  if path == "" then
    return it.known[sysbench.opt.scale]
  end
  if not from_file then
    from_file = answers.read(path)[title(it)]
    if not from_file or #from_file ~= #it.names then
      error(("answers: %s holds no answers of %s at scale %s"):format(
        path, it.name, sysbench.opt.scale), 0)
    end
  end
  return from_file
end

local function check_answer(it)
  played = played + 1
  local found = answers.summary(con:query(it.text(played)))
  if sysbench.opt.check == "print" then
    print(answers.text(found))
    if sysbench.opt.answers ~= "" then
      answers.write(sysbench.opt.answers, title(it), played, found)
    end
    return
  end
  local averages = (it.averages or {})[played]
  local difference = dyno.engine ~= "null"
    and answers.difference(found, known(it)[played], averages)
  if difference then
    error(("Q%s is answered wrong at scale %s: %s"):format(
      it.names[played], sysbench.opt.scale, difference), 0)
  end
end

-- The throughput test ---------------------------------------------------------------------------

local order

local function shuffled(numbers)
  local list = {unpack(numbers)}
  for at = #list, 2, -1 do
    local other = tonumber(sysbench.rand.uniform(1, at))
    list[at], list[other] = list[other], list[at]
  end
  return list
end

-- A user's queries in an order of its own, and somewhere among them the suite's extra.
local function play_stream(it, stream)
  if not order then
    order = shuffled(it.order)
    if it.extra then
      table.insert(order, tonumber(sysbench.rand.uniform(1, #order + 1)), it.extra_name)
    end
  end
  played = played + 1
  local number = order[played]
  if number == it.extra_name then
    dyno.transaction(number)
    it.extra(con, stream)
  else
    dyno.transaction("Q" .. it.names[number])
    con:query((it.drawn or it.text)(number))
  end
end

-- What the phases call by name: check_answer, play_qNAME, play_discarded, play_sSTREAM.
function suite.define(it)
  thread_init = connect
  function _G.check_answer()
    check_answer(it)
  end
  for number, name in ipairs(it.names) do
    _G["play_q" .. name] = function()
      con:query(it.text(number))
    end
  end
  -- What is not measured: all queries, round after round.
  function _G.play_discarded()
    played = played + 1
    con:query(it.text(it.order[(played - 1) % #it.order + 1]))
  end
  for stream = 1, sysbench.opt.streams do
    _G["play_s" .. stream] = function()
      play_stream(it, stream)
    end
  end
  -- What begins anew is the same event.
  function sysbench.hooks.before_restart_event()
    played = played - 1
  end
end

-- The phases -------------------------------------------------------------------------------------

-- A phase of one stream.
function suite.phase(name, title, run, events, more)
  local stream = {name = "query", run = run, connections = 1, unit = "query"}
  local it = {name = name, title = title, streams = {stream},
    stop = {kind = "count", events = events},
    expected_s = events * sysbench.opt.scale * 2}
  for key, value in pairs(more or {}) do
    it[key] = value
  end
  return it
end

-- Every user is a stream of its own.
local function throughput_phase(it)
  local opt = sysbench.opt
  local title = opt.streams .. (opt.streams == 1 and " user" or " users at once")
  local events = #it.order + (it.extra and 1 or 0)
  local phase = suite.phase("throughput", title, nil, events, {primary = {}})
  phase.expected_s = phase.expected_s * opt.streams
  for at = 1, opt.streams do
    local name = "s" .. at
    phase.streams[at] = {name = name, run = "play_" .. name, connections = 1}
    phase.primary[at] = {stream = name, metric = "rate_per_s"}
  end
  return phase
end

-- All phases: the answers, `before`, the power test, `after`, the throughput test. A query has a
-- phase of its own, so that its costs are its own, too.
function suite.phases(it, before, after)
  local opt, list = sysbench.opt, {}
  local function add(phase)
    list[#list + 1] = phase
  end
  if known(it) or opt.check == "print" then
    add(suite.phase("answers", "check the answers", "check_answer", #it.names))
  end
  add(before)
  if opt.discard > 0 then
    add(suite.phase("discarded", "every query, not measured", "play_discarded",
      #it.order * opt.discard))
  end
  for _, number in ipairs(opt.runs > opt.discard and it.order or {}) do
    local name = "q" .. it.names[number]
    local title = (it.titles or {})[number] or "query " .. it.names[number]
    add(suite.phase(name, title, "play_" .. name, opt.runs - opt.discard,
      {primary = {{stream = "query", metric = "latency_ns_mean"}}}))
  end
  add(after)
  if opt.streams > 0 then
    add(throughput_phase(it))
  end
  if list[1] then
    list[1].settle = true
  end
  return list
end

function suite.plans(it)
  local entries = {}
  for number, name in ipairs(it.names) do
    entries[number] = {name = "Q" .. name, sql = it.text(number)}
  end
  return entries
end

return suite
