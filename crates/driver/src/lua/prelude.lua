-- All that a script finds when it begins, put together from the other texts here.
-- `raw`: the driver's functions, and those that it calls; `seat`: who loads the script and for
-- what; `part`: runs one of the texts.
local raw, seat, part = ...

part("sysbench", seat)
part("guard", raw)
part("loading", raw, seat)
part("options", raw, seat, part("option_types", raw), part("general_options", raw))
part("commands", raw)
part("random", raw)

part("dyno", raw, seat)
local thrown, counted = part("thrown", raw), part("counters", raw)
local WAITING, wait = part("waiting", raw)
part("playing", raw, seat, counted, thrown, WAITING)
part("reports", raw, thrown)

local requests = part("requests", raw, wait, part("results"))
local connection = part("connections", raw, seat, requests)
part("bulk", raw, requests.finish, connection)
part("statements", raw, requests, connection, part("cells", raw))

local is_random, is_choice = part("draw")
part("row", raw, requests.finish, connection, is_random)
part("event", raw, wait, requests.raise, is_random, is_choice)
