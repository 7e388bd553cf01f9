"""What a command has to import before it can answer."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
from kvconform.cli import COMMANDS
for name in COMMANDS:
    COMMANDS[name].parser()
    assert "torch" not in sys.modules, name
"""


def test_commands_start_without_torch() -> None:
    """It takes seconds to import, and cases run in a process of their own."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
