-- All that a script finds when it begins, put together from the other texts here.
-- `raw`: the driver's functions, and those that it calls; `identity`: who loads the script and for
-- what; `part`: runs one of the texts.
local raw, identity, part = ...

part("sysbench", raw, identity)
part("options", raw, identity, part("sysbench_options", raw, identity))
local counted = part("dyno", raw, identity)
local is_random, is_choice = part("random", raw)

local requests = part("requests", raw, identity)
local loop = part("symbols", raw, requests, counted, part("pauses", raw, requests.WAITING))
local thrown = part("functions", raw, counted, requests.WAITING, loop)
part("reports", raw, thrown)

local connection = part("connections", raw, identity, requests)
part("inserts", raw, requests.finish, connection, is_random)
part("statements", raw, requests, connection)
part("legacy", raw, identity)
part("histogram")
part("event", raw, requests.wait, requests.raise, is_random, is_choice)
