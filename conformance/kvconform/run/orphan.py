"""A pytest plugin that ends the test process when the process that watches it is gone.

At once where the kernel can do it: a resumed run must be the only one that writes its records.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time

from kvconform.run.child import PARENT

_PERIOD_SECONDS = 1.0
_SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_PERIOD_SECONDS)
    os._exit(70)


# Taken out, for workers of pytest-xdist load this too, and their parent is the test process.
_told = os.environ.pop(PARENT, "")
_parent = int(_told or os.getppid())
if _told and sys.platform == "linux":
    ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)
if os.getppid() != _parent:
    os._exit(70)  # it died before we asked to be told
# Nobody would ever end a hanging case of a run whose supervisor was killed.
threading.Thread(target=_watch, args=(_parent,), name="orphan-watch", daemon=True).start()
