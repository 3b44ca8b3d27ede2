-- The user's own SQL file that makes the tables, for the most part a dump: its statements are sent
-- one after the other, on a connection of its own, whose settings go with it. What the server
-- refuses is printed, and the rest sent all the same: one load tells all that has to be mended.
local raw, identity, requests = ...

return function()
   local path = sysbench.opt.setup
   if path:sub(1, 1) ~= "/" then
      path = identity.folder .. "/" .. path
   end
   local function fail(con, place)
      raw.locate = function() raw.place(place) end
      requests.raise(con, "")
   end
   local con = sysbench.sql.driver():connect()
   raw.open_dump(path, sysbench.opt.setup_database)
   repeat
      local reply = raw.send_of_dump(con.number)
      while reply == false do
         reply = requests.wait()
      end
      if reply == true then
         local refused = raw.note_refusal()
         if not refused then
            fail(con, raw.explain_dump())
         end
         if refused ~= "" then
            print(refused)
         end
      end
   until reply == nil
   local place = raw.sum_refusals()
   if place then
      fail(con, place)
   end
   con:disconnect()
end
