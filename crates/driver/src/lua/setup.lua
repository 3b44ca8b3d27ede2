-- The user's own SQL file that makes the tables, for the most part a dump: its statements are sent
-- one after the other, on a connection of its own, whose settings go with it.
local raw, identity, requests = ...

return function()
   local path = sysbench.opt.setup
   if path:sub(1, 1) ~= "/" then
      path = identity.folder .. "/" .. path
   end
   local con = sysbench.sql.driver():connect()
   raw.open_dump(path, sysbench.opt.setup_database)
   repeat
      local reply = raw.send_of_dump(con.number)
      while reply == false do
         reply = requests.wait()
      end
      if reply == true then
         local place = raw.explain_dump()
         raw.locate = function() raw.place(place) end
         requests.raise(con, "")
      end
   until reply == nil
   con:disconnect()
end
