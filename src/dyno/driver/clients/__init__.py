"""Several drivers that play one load together, each on a host of its own.

`words` reads which hosts are meant, `reach` and `ssh` find a driver there, `drivers` plays a plan
from all of them as one, by `clocks`, and `merging` makes one record of theirs.
"""

from dyno.driver.clients.drivers import ClientDrivers
from dyno.driver.clients.reach import (
    ClientFleet,
    ReachedHost,
    parse_client_hosts,
    reach_hosts,
    read_client_hosts,
)

__all__ = [
    "ClientDrivers",
    "ClientFleet",
    "ReachedHost",
    "parse_client_hosts",
    "reach_hosts",
    "read_client_hosts",
]
