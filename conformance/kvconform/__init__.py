"""Tells whether a KV-cache offloading connector gives back exactly what the engine will read."""

__version__ = "0.1.0"

CONTRACT_REVISION = 1
"""Raised when a clause changes its meaning; independent of the package's version."""

MATRIX_FORMAT = 1
"""Format of matrix files; a file states the one that it is written in."""

RECORDS_FORMAT = 1
"""Format of result records (one JSON object a line)."""
