"""Running rendered cases in a process of their own, watched from outside."""

from kvconform.run.request import RunRequest
from kvconform.run.session import RunResult, run

__all__ = ["RunRequest", "RunResult", "run"]
