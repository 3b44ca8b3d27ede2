-- One point select by primary key per event.
-- title: read a row by its key

local oltp = require("_oltp")

oltp.workload({kinds = {"point_selects"}})
