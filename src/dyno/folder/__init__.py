"""A run on disk: `run.json`, `trials/NNNN.json`, `logs/`, and what is derived from them.

`loaded/NNNN.json` is there while a trial's tables lie in a server that goes on running. Nothing but
what is derived is ever written twice.
"""

from dyno.folder.file import read, write
from dyno.folder.run import LOADED, Folder
from dyno.folder.runs import create, every, opened

__all__ = ["LOADED", "Folder", "create", "every", "opened", "read", "write"]
