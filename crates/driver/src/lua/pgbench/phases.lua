-- The one phase in which a pgbench file is played.

return function()
   local opt = sysbench.opt
   local open = opt.rate > 0
   local stream = { name = "transaction", run = "event", connections = opt.threads,
      role = "writer", unit = "transaction" }
   if open then
      stream.pace = { kind = opt.arrivals, rate_per_s = opt.rate }
   end
   local stop = opt.events > 0 and { kind = "count", events = opt.events }
      or { kind = "time", duration_s = opt.time }
   return { { name = "run", streams = { stream }, stop = stop, warmup_s = opt.warmup_time,
      stationary = true, expected_s = opt.warmup_time + (stop.duration_s or opt.events / 10000),
      primary = { { stream = "transaction", metric = open and "latency_ns_p99" or "rate_per_s" } },
   } }
end
