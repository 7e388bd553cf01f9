"""Classes of faults seen in the field: what every mutant, and so the suite, must answer for.

The numbers are those under which reports are sorted; a mutant names the classes that it stands for.
"""

from __future__ import annotations

FIELD_CLASS = "field class"
"""What the registry gate calls one."""

FIELD_CLASSES: dict[str, str] = {
    "C1": "The load after a hit asks for more than the lookup has looked at",
    "C2": "What is stored and what a lookup needs do not come from one rule",
    "C3": "The store cursor loses chunks, offers them twice or runs ahead of keys and blocks",
    "C4": "A stored chunk holds bytes that are not those of its key",
    "C5": "A copy or a report comes before what it has to wait for",
    "C6": "A recurrent state is not that of the boundary, or a connector that never hits changes the run",
    "C7": "Local and external tokens of a hit are counted or placed wrongly",
    "C8": "A verdict is no longer true when it is used, as its chunks were not pinned",
    "C9": "A deferral or a job never ends",
    "C10": "A request is preempted, resumed, aborted, finished or capped at the wrong moment",
    "C11": "Something from before a reset is served after it, or stays pinned",
    "C12": "A failed load or store reaches others, or is reported not exactly once",
    "C13": "A geometry of groups is neither handled nor refused with a message",
    "C14": "Widths, capacities or keys are wrong for a layout, a topology or a partition",
    "C15": "Eviction and admission leave stored prefixes that nobody can use",
    "C16": "Events and figures tell something else than the real state",
    "C17": "Memory regions, registrations or driver calls of the host are left behind or misused",
    "C18": "The work of the scheduler side grows faster than what there is to do",
}
"""Title of each class by its id."""
