"""What vLLM or a class says when it will not start, in one line, and whether a GPU is all it lacks."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch

from kvconform.engine.calls import ConnectorBrokeError, call

_WANTS_GPU = re.compile(
    r"only supported on CUDA|not compiled with CUDA|no CUDA GPUs|no NVIDIA driver"
    r"|CUDA driver version|libcuda"
    # What torch without CUDA has in the place of its streams and events.
    r"|dummy base class|'(Stream|Event)' has no attribute",
    re.IGNORECASE,
)


def configured(function: Callable[..., Any], *args: Any) -> Any:
    """Make a configuration object; what it says against its values becomes `ConnectorBrokeError`."""

    def made() -> Any:
        try:
            return function(*args)
        except ValueError as error:
            raise ConnectorBrokeError("configuration", _plain(error)) from error

    return call("__init__", made)


def wants_gpu(text: str) -> bool:
    """Whether an error says that only the GPU is missing, on a machine that has none."""
    return bool(_WANTS_GPU.search(text)) and not torch.cuda.is_available()


def _plain(error: ValueError) -> str:
    """The messages alone, of a validation error that brings its whole input and a link."""
    errors = getattr(error, "errors", None)
    if errors is None:
        return str(error)
    return "; ".join(_message(problem) for problem in errors())


def _message(problem: dict[str, Any]) -> str:
    place = ".".join(str(step) for step in problem.get("loc", ()))
    text = str(problem["msg"]).removeprefix("Value error, ")
    return f"{place}: {text}" if place else text
