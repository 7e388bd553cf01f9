"""One case as a change may meet it: on which connector of the package, with which settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kvconform.ports import ConnectorFactory
from kvconform.registry import resolve_connector
from kvconform.run.inline import Played, Player


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """One case on ``connector``, with ``options`` as its settings."""

    case: str
    connector: str
    options: tuple[tuple[str, object], ...] = ()

    @property
    def matrix(self) -> str:
        """The name of the case's matrix."""
        return self.case.partition("[")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plays:
    """Plays on some connectors, all of the package that is changed; ``main`` needs no telling."""

    player: Player
    main: str
    connectors: Sequence[str]

    def factories(self) -> Mapping[str, ConnectorFactory]:
        """Of the code as it is imported now, by the connector's name."""
        return {name: resolve_connector(name).factory for name in self.connectors}

    def play(self, play: Play, factories: Mapping[str, ConnectorFactory]) -> Played:
        """One play on a fresh connector."""
        name = play.connector
        return self.player.play(play.case, factories[name], dict(play.options), name=name)

    def told(self, play: Play) -> str:
        """The play in words: the case, and what else there is to say of it."""
        on = f" on {play.connector}" if play.connector != self.main else ""
        return play.case + on + "".join(f" {key}={value}" for key, value in play.options)
