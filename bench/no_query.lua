-- An event without a round trip: what an event costs beside its queries.

function event() end
