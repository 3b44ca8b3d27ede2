-- One point select by primary key per event.

local oltp = require("_oltp")

oltp.workload({kinds = {"point_selects"}})
