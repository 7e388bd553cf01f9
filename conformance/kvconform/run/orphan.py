"""A pytest plugin that ends the test process when the process that watches it is gone."""

from __future__ import annotations

import os
import threading
import time

_PERIOD_SECONDS = 1.0


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_PERIOD_SECONDS)
    os._exit(70)


# Nobody would ever end a hanging case of a run whose supervisor was killed.
threading.Thread(target=_watch, args=(os.getppid(),), name="orphan-watch", daemon=True).start()
