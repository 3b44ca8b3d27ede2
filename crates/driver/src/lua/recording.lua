-- dyno.recording: a server's log as a workload. `src/dyno/workloads/replay/layout.py` writes
-- scripts that call it, and beside each a file for every connection.
local raw, identity = ...

-- What lets a connection read only, whatever a function that a statement calls may do.
local READ_ONLY = {
   postgres = "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
   mysql = "SET SESSION TRANSACTION READ ONLY",
   sqlite = "PRAGMA query_only = ON",
}
-- A guess for the forecast, where statements follow at once.
local PER_SECOND = 10000

local function speed_of(text)
   local number = text ~= "max" and tonumber((text:gsub("x$", "")))
   return number and number > 0 and number < math.huge and number or nil
end

local function check_speed(_, text)
   if text ~= "max" and not speed_of(text) then
      raw.fail(("the speed of a replay cannot be '%s'"):format(text),
         "1 (as it was), 10 (ten times as fast) or max")
   end
   return true
end

-- `lanes`: connections; `statements`, and the `span_s` in which they were sent; `writes`: not all
-- of them read; `plans`: an example of each digest.
function dyno.recording(laid)
   sysbench.cmdline.options = {
      speed = { "How fast: 1 (as it was), 10 (ten times as fast), … or max (each statement when "
         .. "its session's last was answered)", "max", nil, check_speed },
      setup = { "An SQL file that makes the copy on which the log is played", "" },
      setup_database = { "Of several databases of setup the one that is loaded; *: all, each as it "
         .. "is named", "" },
   }
   local speed = speed_of(sysbench.opt.speed)

   -- The driver plays the statements, without a step of Lua.
   function event() end
   function raw.list_in_lua() return {} end

   function thread_init()
      local con = sysbench.sql.driver():connect()
      if not laid.writes and READ_ONLY[dyno.engine] then
         con:query(READ_ONLY[dyno.engine])
      end
      local file = ("%s/%05d.lane"):format(identity.folder, identity.number)
      raw.load_recording(file, con.number, speed or 1)
   end

   if sysbench.opt.setup ~= "" then
      function prepare()
         raw.run_setup()
      end
   end

   dyno.plans = laid.plans

   function dyno.phases()
      local stream = { name = "statement", run = "event", connections = laid.lanes,
         unit = "statement", role = laid.writes and "writer" or "reader" }
      local span_s = laid.span_s / (speed or 1)
      if speed then
         stream.pace = { kind = "recorded", rate_per_s = laid.statements / math.max(span_s, 1e-3) }
      end
      return { { name = "replay", title = "the recorded log", streams = { stream },
         stop = { kind = "count", events = 0 },
         settle = sysbench.opt.setup ~= "",
         expected_s = speed and math.max(span_s, 1e-3) or laid.statements / PER_SECOND,
         primary = { { stream = "statement",
            metric = speed and "latency_ns_p99" or "rate_per_s" } },
      } }
   end
end
