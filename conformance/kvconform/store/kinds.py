"""The events of which a store case consists: one function for each kind.

What a matrix may write for a kind stands in ``templates/store.scenario.yaml``, under the same
name; a kind is these two, and nothing else knows of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvconform.contract.objects import ABSENT, Content, Place
from kvconform.ports import KvconformError
from kvconform.store.contents import bytes_of, key_bytes
from kvconform.store.damage import DAMAGES, locked
from kvconform.store.second import Asked, Reply

if TYPE_CHECKING:
    from kvconform.store.stage import StoreStage

Kind = Callable[["StoreStage", Any], None]
"""Does on a stage what an event of its kind says; what follows the event's name comes second."""

KINDS: dict[str, Kind] = {}
"""Every kind of event by its name."""


class StoreCaseError(KvconformError):
    """A case that no store could play: says which event, and what to change."""


def _kind(function: Kind) -> Kind:
    KINDS[function.__name__.strip("_")] = function
    return function


def kinds_in(events: Iterable[str | Mapping[str, Any]]) -> frozenset[str]:
    """The kinds of the events of a case."""
    return frozenset(kind for event in events for kind in ([event] if isinstance(event, str) else event))


def spelled_keys(events: Any) -> list[bytes]:
    """The keys whose bytes the events spell out, wherever they stand in them."""
    if isinstance(events, str):
        return [key_bytes(events, 0)] if events.startswith("0x") else []
    if isinstance(events, Mapping):
        events = list(events.values())
    return [key for one in events for key in spelled_keys(one)] if isinstance(events, Sequence) else []


def happen(stage: StoreStage, event: str | Mapping[str, Any]) -> None:
    """Have one event happen: a bare word, or one key with what it says."""
    for name, what in [(event, None)] if isinstance(event, str) else event.items():
        KINDS[name](stage, what)


class _Batch:
    """The keys of one event, and the operations on them; ``elsewhere`` is the second process."""

    def __init__(self, stage: StoreStage, what: Mapping[str, Any], *, elsewhere: bool = False) -> None:
        self.stage = stage
        self.what = what
        self.elsewhere = elsewhere
        self.names = _names(what["keys"])
        self.places: list[Place] = [(stage.namespace, name) for name in self.names]
        length = stage.given.get("key_bytes", 16)
        self.keys = tuple(key_bytes(name, length) for name in self.names)
        self.weighed = False
        """Whether a get tells how much memory it takes."""
        self.where = " in a second process" if elsewhere else ""
        self.about = ", ".join(self.names[:8]) + (f" and {len(self.names) - 8} more" if len(self.names) > 8 else "")  # noqa: PLR2004

    def contents(self, version: int | None = None) -> list[Content]:
        """What is put under each key."""
        given = self.stage.given
        return [
            Content(
                namespace=self.stage.namespace,
                key=name,
                version=self.what.get("version", 1) if version is None else version,
                size=self.what.get("bytes", given.get("bytes", 4096)),
                random=given.get("data") == "random",
            )
            for name in self.names
        ]

    def put(self) -> None:
        contents = self.contents()
        reply = self._call(Asked(method="put", keys=self.keys, datas=tuple(map(bytes_of, contents))))
        event = self.stage.note(f"put {self.about} ({contents[0].size} bytes, version {contents[0].version}){self.where}: {_said(reply)}")
        answers = self.stage.judge.answers("put", self.places, reply, event)
        if answers is not None:
            self.stage.judge.put(self.places, contents, answers, event)
        elif reply.unavailable:
            for place, content in zip(self.places, contents, strict=True):
                self.stage.judge.known[content] = None
                self.stage.judge.objects.put_unknown(place, [content, ABSENT])

    def get(self) -> list[bool]:
        sizes = tuple(self._size(place) for place in self.places)
        reply = self._call(Asked(method="get", keys=self.keys, sizes=sizes, weighed=self.weighed))
        event = self.stage.note(f"get {self.about}{self.where}: {_said(reply)}")
        if self.weighed:
            self.stage.judge.weight(reply.grown_bytes, sum(sizes), event)
        answers = self.stage.judge.answers("get", self.places, reply, event)
        if answers is not None:
            self.stage.judge.get(self.places, reply, answers, event)
        return answers or []

    def _size(self, place: Place) -> int:
        """Bytes of the buffer: as the event says, else those of what is there."""
        if "bytes" in self.what:
            return int(self.what["bytes"])
        sizes = {content.size for content in self.stage.judge.objects.may_be(place) if content is not ABSENT}
        return max(sizes, default=self.stage.given.get("bytes", 4096))

    def exists(self) -> list[bool]:
        reply = self._call(Asked(method="exists", keys=self.keys))
        event = self.stage.note(f"exists {self.about}{self.where}: {_said(reply)}")
        answers = self.stage.judge.answers("exists", self.places, reply, event)
        if answers is not None:
            self.stage.judge.exists(self.places, answers, event)
        return answers or []

    def delete(self) -> None:
        reply = self._call(Asked(method="delete", keys=self.keys))
        event = self.stage.note(f"delete {self.about}{self.where}: {_said(reply)}")
        answers = self.stage.judge.answers("delete", self.places, reply, event)
        for place, answer in zip(self.places, answers or (), strict=False):
            right = self.stage.judge.objects.delete_answers(place)
            leased = self.stage.judge.special.get(place) == "lease-holds"
            check = "lease-holds" if leased else "put-is-found"
            self.stage.tally.saw(check)
            if answer not in right and not self.stage.judge.troubled:
                self.stage.tally.wrong(check, f"a delete of {place[1]!r} that answers {not answer}", str(answer), event=event)
            self.stage.judge.objects.deleted(place, answered=answer)

    def _call(self, asked: Asked) -> Reply:
        return self.stage.ask(asked, elsewhere=self.elsewhere)


@_kind
def _put(stage: StoreStage, what: Mapping[str, Any]) -> None:
    _Batch(stage, what).put()


@_kind
def _overwrite(stage: StoreStage, what: Mapping[str, Any]) -> None:
    _Batch(stage, what).put()


@_kind
def _get(stage: StoreStage, what: Mapping[str, Any]) -> None:
    _Batch(stage, what).get()


@_kind
def _batch(stage: StoreStage, what: Mapping[str, Any]) -> None:
    """Keys of which some are absent, in one batch."""
    stage.tally.saw("batch-as-declared")
    _Batch(stage, what).exists()
    _Batch(stage, what).get()


@_kind
def _exists(stage: StoreStage, what: Mapping[str, Any]) -> None:
    _Batch(stage, what).exists()


@_kind
def _agree(stage: StoreStage, what: Mapping[str, Any]) -> None:
    """Exists and get of the same keys, one by one so that no batch policy comes between."""
    for name in _names(what["keys"]):
        _got_as_said(stage, _Batch(stage, {**what, "keys": [name]}))


def _got_as_said(stage: StoreStage, one: _Batch) -> bool:
    """Whether a get finds the one key of a batch, of which exists has to say the same."""
    said, got = one.exists(), one.get()
    stage.tally.saw("exists-agrees-with-get")
    if said and got and said != got:
        event = stage.note(f"{one.about}: exists says {said[0]}, get says {got[0]}")
        stage.tally.wrong("exists-agrees-with-get", f"one answer about {one.about!r}", f"exists {said[0]}, get {got[0]}", event=event)
    return got == [True]


@_kind
def _delete(stage: StoreStage, what: Mapping[str, Any]) -> None:
    _Batch(stage, what).delete()


@_kind
def _reopen(stage: StoreStage, what: None) -> None:
    del what
    stage.close_here()
    stage.note("closed and opened again")


@_kind
def _second(stage: StoreStage, what: Sequence[Mapping[str, Any]]) -> None:
    """Operations in a second process that has the store open, too."""
    for event in what:
        for name, inner in event.items():
            getattr(_Batch(stage, inner, elsewhere=True), name)()


@_kind
def _after_us(stage: StoreStage, what: Sequence[Mapping[str, Any]]) -> None:
    """The same once this process has closed it."""
    stage.close_here()
    _second(stage, what)
    stage.leave_second()


@_kind
def _race(stage: StoreStage, what: Mapping[str, Any]) -> None:
    """Two processes put different bytes under the same keys at the same time."""
    batch = _Batch(stage, what)
    ours, theirs = batch.contents(1), batch.contents(2)
    second = stage.second()
    if stage.dead:
        return
    second.send("call", Asked(method="put", keys=batch.keys, datas=tuple(map(bytes_of, theirs))))
    mine = stage.ask(Asked(method="put", keys=batch.keys, datas=tuple(map(bytes_of, ours))))
    other = second.receive()
    event = stage.note(f"put {batch.about} by two processes at once: {_said(mine)} and {_said(other)}")
    both = [stage.judge.answers("put", batch.places, reply, event) for reply in (mine, other)]
    for at, place in enumerate(batch.places):
        for content in (ours[at], theirs[at]):
            stage.judge.known[content] = None
        told = [content for content, said in zip((ours[at], theirs[at]), both, strict=True) if said and said[at]]
        if told:
            stage.judge.objects.put_at_once(place, told)
        else:
            stage.judge.objects.put_unknown(place, [ours[at], theirs[at]])
        stage.judge.special[place] = "whole-or-nothing"


@_kind
def _killed_put(stage: StoreStage, what: Mapping[str, Any]) -> None:
    """A process is killed inside a put; whoever comes then finds whole objects or none."""
    batch = _Batch(stage, what)
    contents = batch.contents()
    stage.close_here()
    stage.killed(Asked(method="put", keys=batch.keys, datas=tuple(map(bytes_of, contents)), die_after=what["after"]))
    stage.note(f"a process is killed in its put of {batch.about}, {what['after']} calls into it")
    for place, content in zip(batch.places, contents, strict=True):
        stage.judge.known[content] = None
        stage.judge.objects.put_unknown(place, [content])
        stage.judge.special[place] = "whole-or-nothing"


@_kind
def _damage(stage: StoreStage, what: Mapping[str, Any]) -> None:
    """The files of objects go bad while the store is open, or between two openings."""
    batch = _Batch(stage, what)
    names = [*batch.names, *([what["other"]] if "other" in what else [])]
    files = [_file_of(stage, name) for name in names]
    for file in files[: len(batch.names)]:
        if file is not None and files[-1] is not None:
            DAMAGES[what["how"]](file, files[-1])
    stage.note(f"the file of {batch.about}: {what['how']}" + (f" with {what['other']}" if "other" in what else ""))
    for name in names:
        stage.judge.objects.damaged((stage.namespace, name))
        stage.judge.special[stage.namespace, name] = "damage-is-a-miss"


@_kind
def _lock(stage: StoreStage, what: Mapping[str, Any]) -> None:
    """Somebody else holds an exclusive lock on the files of objects until the case ends."""
    batch = _Batch(stage, what)
    for name, place in zip(batch.names, batch.places, strict=True):
        file = _file_of(stage, name)
        if file is not None:
            stage.until_the_end(locked(file))
        stage.judge.objects.damaged(place)
        stage.judge.special[place] = "damage-is-a-miss"
    stage.note(f"the files of {batch.about} are locked by somebody else")


def _file_of(stage: StoreStage, name: str) -> Path | None:
    """The file of an object that is there; a store that tells none has not kept its claim."""
    if stage.judge.objects.is_there((stage.namespace, name)) is not True:
        raise StoreCaseError(f"{stage.case.source}: {name!r} was not put, or may be gone: it has no file to damage")
    file = stage.object_file(key_bytes(name, stage.given.get("key_bytes", 16)))
    if file is not None and file.exists():
        return file
    told = "None" if file is None else f"{file.name}, which does not exist"
    event = stage.note(f"object_file of {name}: {told}")
    stage.tally.wrong("store-answers", f"the file of {name!r}, which is there", told, event=event)
    return None


@_kind
def _troubled(stage: StoreStage, what: Mapping[str, Any]) -> None:
    """A process of its own has the store open before, while and after its place fails."""
    stage.close_here()
    stage.leave_second()
    _second(stage, what["before"])
    judge = stage.judge
    judge.usual = "outlives-trouble"
    for place in judge.objects.places():
        judge.special[place] = judge.usual
    stage.note(f"from here on the place is in trouble: {what['how']}")
    stage.trouble, judge.troubled = what["how"], True
    _second(stage, what["while"])
    stage.trouble, judge.troubled = "", False
    stage.note("the trouble is over")
    _second(stage, what["after"])
    stage.leave_second()


@_kind
def _pass_time(stage: StoreStage, seconds: float) -> None:
    """So much time passes on the clock that the store was given."""
    stage.clock.now_s += seconds
    stage.judge.objects.now_s += seconds
    stage.note(f"{seconds} s pass")
    for place in stage.judge.objects.places():
        if stage.judge.ttl_s is not None:
            stage.judge.special[place] = "expires-as-set"


@_kind
def _lease(stage: StoreStage, what: Mapping[str, Any]) -> None:
    """An exists, by which what is there is leased."""
    batch = _Batch(stage, what)
    batch.exists()
    for place in batch.places:
        stage.judge.special[place] = "lease-holds"


@_kind
def _no_copy(stage: StoreStage, what: Mapping[str, Any]) -> None:
    """The memory that a get takes, in a process that does nothing else and has got it before."""
    stage.close_here()
    batch = _Batch(stage, what, elsewhere=True)
    batch.put()
    batch.get()
    for name in batch.names:
        one = _Batch(stage, {**what, "keys": [name]}, elsewhere=True)
        one.weighed = True
        one.get()
    stage.leave_second()


@_kind
def _namespace(stage: StoreStage, what: str) -> None:
    """From here on operations are in this namespace, of the same folder or server."""
    stage.leave_second()
    stage.namespace = what
    stage.note(f"namespace {what!r}")
    stage.tally.saw("namespaces-apart")


@_kind
def _fill(stage: StoreStage, what: Mapping[str, Any]) -> None:
    """Puts one after another, then every key is looked up, taken or not: what is found fits."""
    names = _names(what["keys"])
    for name in names:
        _Batch(stage, {**what, "keys": [name]}).put()
    found = 0
    for name in names:
        one = _Batch(stage, {**what, "keys": [name]})
        if _got_as_said(stage, one):
            found += one.contents()[0].size
    stage.judge.bound(found, stage.note(f"{found} bytes are found in all"))


def _names(keys: Any) -> list[str]:
    if isinstance(keys, Mapping):
        return [f"{keys.get('prefix', 'k')}{at}" for at in range(keys["count"])]
    return list(keys)


def _said(reply: Reply) -> str:
    if reply.error:
        return f"raises {reply.error}"
    answer = reply.answer
    if isinstance(answer, Sequence) and all(isinstance(one, bool) for one in answer):
        told = "".join("T" if one else "F" for one in answer[:32])
        return told + ("..." if len(answer) > 32 else "")  # noqa: PLR2004
    return f"{answer!r:.80}"
