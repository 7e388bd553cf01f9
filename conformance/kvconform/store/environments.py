"""The stores that come with the project, and the tox environment that has what each one needs."""

from __future__ import annotations

import os

ENVIRONMENTS = {
    "memory": "",
    "fs": "",
    "aibrix": "aibrix",
    "lmcache-l2": "lmcache",
    "lmcache-disk": "lmcache",
    "mooncake": "mooncake",
    "vllm-tier:fs": "vllm-tier",
}
"""Environment by the name of a store; empty where no package is needed.  The largest comes last."""


_BY_HEAD = {name.partition(":")[0]: environment for name, environment in ENVIRONMENTS.items()}


def is_ours(name: str) -> bool:
    """Whether it is a store for which there is an environment; also another one of its kind."""
    return name.partition(":")[0] in _BY_HEAD


def environment_of(name: str) -> str:
    """The tox environment that has what the store needs, empty if that is nothing."""
    return ENVIRONMENTS.get(name, _BY_HEAD[name.partition(":")[0]])


def stores_of_this_environment() -> tuple[str, ...]:
    """The stores for which the tox environment that we run in is made; outside of one all."""
    here = os.environ.get("TOX_ENV_NAME", "")
    own = tuple(name for name, environment in ENVIRONMENTS.items() if environment == here)
    return own if here and own else tuple(ENVIRONMENTS)


def expectations_name(store: str) -> str:
    """The file of what a store is known to fail, in ``expectations``."""
    return f"store-{file_name(store)}.yaml"


def file_name(store: str) -> str:
    """The name of a store as a part of a file's name."""
    return store.replace(":", "-")
