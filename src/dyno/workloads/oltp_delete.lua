-- One delete by primary key per event; the tables shrink, and later deletes find no row.
-- title: delete a row by its key

local oltp = require("_oltp")

oltp.workload({kinds = {"deletes"}, writes = true, drifts = true})
