-- Requests to `dyno-driver echo`: a phase for each of `phases`, which are "CONNECTIONS REQUEST
-- ANSWER NAME", parted by semicolons: how many ask at once, and for how many bytes.

sysbench.cmdline.options = {phases = {"Phases", "1 64 64 run"}}

local list = {}

local function event_of(sizes)
  return dyno.event(function()
    return {{sysbench.sql.driver():connect():prepare(sizes)}}
  end)
end

for text in sysbench.opt.phases:gmatch("[^;]+") do
  local connections, sizes, name = text:match("^(%d+) (%d+ %d+) (.+)$")
  local event = "event_" .. (#list + 1)
  _G[event] = event_of(sizes)
  list[#list + 1] = {name = name, warmup_s = sysbench.opt.warmup_time,
    streams = {{name = "echo", run = event, connections = tonumber(connections)}},
    stop = {kind = "time", duration_s = sysbench.opt.time}}
end

dyno.phases = list
