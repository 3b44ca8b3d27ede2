"""A registry's client is tried twice: a line that broke for a moment is no reason to end a run.

Clients retry a request themselves; not all of them a name that was not resolved, a proxy that
answered with an error, or an archive that came damaged. What a second try cannot mend (there is no
such package) is not tried again, nor is what took its whole time.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence

from dyno.builds import Say

Done = subprocess.CompletedProcess[str]

#: How long the line is given to mend.
PAUSE_S = 3.0


def tried(run: Callable[[], Done], say: Say, final: Sequence[str]) -> Done:
    """What the client ends with; where it fails without one of the words `final`, what it ends
    with when it is run once more. What `run` raises passes through.
    """
    done = run()
    said = done.stdout + done.stderr
    if done.returncode == 0 or any(words in said for words in final):
        return done
    say(f"{done.args[0]} failed: trying once more")
    time.sleep(PAUSE_S)
    return run()
