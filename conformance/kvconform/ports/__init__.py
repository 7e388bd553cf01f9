"""What a connector's author imports: the only module of the suite that the reference uses."""

from kvconform.ports.capabilities import Capability
from kvconform.ports.connector import (
    Connector,
    ConnectorFactory,
    Provider,
    SchedulerSide,
    Setting,
    WorkerSide,
)
from kvconform.ports.control import ChunkControl, ChunkState, Direction, TransferGate, TransferJob
from kvconform.ports.errors import (
    ConnectorNotFoundError,
    KvconformError,
    LayoutError,
    UnsupportedLayoutError,
)
from kvconform.ports.events import ChunkEvent, ChunkRemoved, ChunksCleared, ChunkStored
from kvconform.ports.layout import Group, GroupKind, Layout, Scheduling, Storage
from kvconform.ports.partition import PLAIN, Image, Lora, Partition
from kvconform.ports.request import (
    NULL_BLOCK,
    BlockTable,
    Request,
    RequestSpec,
    RequestStatus,
    ScheduledRequest,
    Step,
    StepResult,
    load_cap,
    store_cap,
)
from kvconform.ports.store import (
    BatchAnswer,
    Overwrite,
    Store,
    StoreCapability,
    StoreClaims,
    StoreFactory,
    StoreProvider,
    StoreSetting,
)

__all__ = [
    "NULL_BLOCK",
    "PLAIN",
    "BatchAnswer",
    "BlockTable",
    "Capability",
    "ChunkControl",
    "ChunkEvent",
    "ChunkRemoved",
    "ChunkState",
    "ChunkStored",
    "ChunksCleared",
    "Connector",
    "ConnectorFactory",
    "ConnectorNotFoundError",
    "Direction",
    "Group",
    "GroupKind",
    "Image",
    "KvconformError",
    "Layout",
    "LayoutError",
    "Lora",
    "Overwrite",
    "Partition",
    "Provider",
    "Request",
    "RequestSpec",
    "RequestStatus",
    "ScheduledRequest",
    "SchedulerSide",
    "Scheduling",
    "Setting",
    "Step",
    "StepResult",
    "Storage",
    "Store",
    "StoreCapability",
    "StoreClaims",
    "StoreFactory",
    "StoreProvider",
    "StoreSetting",
    "TransferGate",
    "TransferJob",
    "UnsupportedLayoutError",
    "WorkerSide",
    "load_cap",
    "store_cap",
]
