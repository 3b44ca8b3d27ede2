-- The options that every script has, sysbench's and Dyno's, and what they may be.
local raw = ...
local cmdline = sysbench.cmdline

local general = {
   threads = { "Users, each with a state and a connection of its own", 1, cmdline.ARG_INT },
   time = { "Seconds to measure; 0: no limit", 10 },
   events = { "Events to play in all; 0: no limit", 0, cmdline.ARG_INT },
   rate = { "Events per second of all users together; 0: each follows the last at once", 0 },
   arrivals = { "How events at a rate are spaced: uniform, poisson or burst", "uniform" },
   warmup_time = { "Seconds to play before measuring", 0 },
   rand_type = { "Default distribution of random numbers: uniform, gaussian, special, pareto "
      .. "or zipfian", "special" },
   rand_seed = { "Seed of random numbers; 0: the plan's", 0, cmdline.ARG_INT },
   rand_spec_iter = { "Numbers averaged for one of the gaussian and special distributions", 12,
      cmdline.ARG_INT },
   rand_spec_pct = { "Percent of the range that holds the special values", 1, cmdline.ARG_INT },
   rand_spec_res = { "Percent of numbers that are special values", 75, cmdline.ARG_INT },
   rand_pareto_h = { "Shape h of the Pareto distribution", 0.2 },
   rand_zipfian_exp = { "Exponent of the Zipfian distribution", 0.8 },
   percentile = { "Percentile that a report hook reads as latency_pct", 95, cmdline.ARG_INT },
   db_driver = { "What the null engine calls itself towards the script", "pgsql" },
   db_ps_mode = { "Prepared statements: auto, or disable to send them as text", "auto" },
}

local choices = {
   rand_type = { "uniform", "gaussian", "special", "pareto", "zipfian" },
   arrivals = { "uniform", "poisson", "burst" },
   db_ps_mode = { "auto", "disable" },
}

for name, known in pairs(choices) do
   general[name][4] = function(_, text)
      for _, choice in ipairs(known) do
         if text == choice then
            return true
         end
      end
      raw.unknown(("value of option %s"):format(name), text, known)
   end
end

-- The least and the most that a general option may be. A state of its own for each user: more
-- than 65536 of them would fill the memory of any machine before the first event.
local ranges = { threads = { 1, 65536, "1 to 65536" } }
for _, name in ipairs({ "time", "events", "rate", "warmup_time" }) do
   ranges[name] = { 0, 2 ^ 53, "0 or more" }
end

for name, range in pairs(ranges) do
   general[name][4] = function(_, text)
      local number = tonumber(text)
      if not (number and number >= range[1] and number <= range[2]) then
         raw.fail(("option %s is out of range: %s"):format(name, text), range[3])
      end
      return true
   end
end

return general
