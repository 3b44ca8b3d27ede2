"""A server in use: `servers/profile/` samples it, and each profile is a file of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dyno.record import RunSummary
from dyno.record.server_profile import ServerProfile
from dyno.runs.run_folder import Instrument, read_json

if TYPE_CHECKING:
    from dyno.report.result import Result


class ServerProfiles(Instrument):
    """Profiles of `dyno profile`."""

    name, noun, said = "profile", "a profile of a server", "server profiled"
    command = "profile"
    is_file = True

    def summarize(self, plain: RunSummary, path: Path) -> RunSummary:
        """Which server it is of; a profile has no verdict."""
        profile = read_json(ServerProfile, path)
        return replace(
            plain,
            created_utc=profile.began_utc,
            question=f"Where does the time of {profile.name} go?",
            candidates=(profile.name,),
            engines=(profile.engine,) if profile.engine else (),
            complete=True,
        )

    def read_result(self, path: Path) -> Result:
        """The profile in words; it has no verdict."""
        from dyno.report.server_profile import build_profile_result

        return build_profile_result(read_json(ServerProfile, path))


INSTRUMENT = ServerProfiles()
