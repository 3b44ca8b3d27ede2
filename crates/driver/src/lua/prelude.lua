-- All that a script finds when it begins, put together from the other texts here.
-- `raw`: the driver's functions, and those that it calls; `seat`: who loads the script and for
-- what; `part`: runs one of the texts.
local raw, seat, part = ...

part("sysbench", raw, seat)
part("options", raw, seat)
local counted = part("dyno", raw, seat)
local is_random, is_choice = part("random", raw)

local requests = part("requests", raw)
local thrown = part("functions", raw, seat, counted, requests.WAITING)
part("reports", raw, thrown)

local connection = part("connections", raw, seat, requests)
part("inserts", raw, requests.finish, connection, is_random)
part("statements", raw, requests, connection)
part("event", raw, requests.wait, requests.raise, is_random, is_choice)
