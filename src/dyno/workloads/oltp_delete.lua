-- One delete by primary key per event; the tables shrink, and later deletes find no row.

local oltp = require("_oltp")

oltp.workload({kinds = {"deletes"}, writes = true, drifts = true})
