"""Files of plans that TorchRec's planners take: what is in them, read and written without TorchRec."""

import json
import math
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeGuard

from neuroshard.errors import Error
from neuroshard.replace_file import replace_file

FORMAT = "neuroshard.sharding_plan"
VERSION = 1

MOST = 2**63 - 1
"""Most rows, columns and bytes: what TorchRec's tensors can count."""
MOST_RANKS = 2**31


@dataclass(frozen=True)
class StoredShard:
    size: list[int]
    offset: list[int]
    rank: int
    storage: dict[str, int]
    """Bytes, by TorchRec's names of memory."""
    perf: dict[str, float]
    """Milliseconds, by TorchRec's names of what takes them."""


@dataclass(frozen=True)
class StoredTable:
    path: str
    name: str
    sharding_type: str
    compute_kernel: str
    option: int
    """storage_hash() of the option of TorchRec's search space that the shards are of."""
    shards: list[StoredShard]


@dataclass(frozen=True)
class StoredPlan:
    """The plan that a planner selected."""

    fingerprint: str
    planner_context: str
    """Hash that TorchRec's planners make of their inputs: hash_planner_context_inputs_str()."""
    tables: list[StoredTable]


def load_stored_plan(path: Path) -> StoredPlan | None:
    """None if there is no such file. Raises Error if it is damaged or cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise Error(f"{path}: cannot be read: {error}") from error
    try:
        document = json.loads(text, parse_constant=no_number)
    except (ValueError, RecursionError) as error:
        raise Error(f"{path}: not JSON: {error}; delete it, and the plan is sought anew") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise Error(f"{path}: not a stored plan; delete it, and the plan is sought anew")
    if document.get("version") != VERSION:
        raise Error(f"{path}: version is {document.get('version')}; this program reads version {VERSION}")
    try:
        return plan_of_document(document)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Error(f"{path}: {type(error).__name__}: {error}; delete it, and the plan is sought anew") from error


def save_stored_plan(path: Path, plan: StoredPlan) -> None:
    """Whole or not at all, in the place of what is there. Raises Error if it cannot be written."""
    document = {"format": FORMAT, "version": VERSION, **asdict(plan)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, json.dumps(document) + "\n")
    except OSError as error:
        raise Error(f"{path}: cannot be written: {error}") from error


def plan_of_document(document: dict[str, Any]) -> StoredPlan:
    """Raises AttributeError, KeyError, TypeError or ValueError if something is missing, of another kind or no number
    that TorchRec can have given."""
    return StoredPlan(
        fingerprint=text_of(document, "fingerprint"),
        planner_context=text_of(document, "planner_context"),
        tables=[
            StoredTable(
                path=text_of(table, "path"),
                name=text_of(table, "name"),
                sharding_type=text_of(table, "sharding_type"),
                compute_kernel=text_of(table, "compute_kernel"),
                option=whole("option", table["option"], -math.inf, math.inf),
                shards=[shard_of_document(shard) for shard in table["shards"]],
            )
            for table in document["tables"]
        ],
    )


def shard_of_document(shard: dict[str, Any]) -> StoredShard:
    stored = StoredShard(
        size=[whole("size", extent) for extent in shard["size"]],
        offset=[whole("offset", first) for first in shard["offset"]],
        rank=whole("rank", shard["rank"], most=MOST_RANKS),
        storage={kind: whole(f"storage {kind}", count) for kind, count in shard["storage"].items()},
        perf={kind: milliseconds(f"perf {kind}", ms) for kind, ms in shard["perf"].items()},
    )
    if len(stored.size) != 2 or len(stored.offset) != 2:
        raise ValueError("a shard has size and offset of other than rows and columns")
    return stored


def text_of(owner: dict[str, Any], field: str) -> str:
    value = owner[field]
    if not isinstance(value, str):
        raise ValueError(f"{field} is {shown(value)}, which is no text")
    return value


def whole(field: str, value: object, least: float = 0, most: float = MOST) -> int:
    if is_number(value) and least <= value <= most and value == int(value):
        return int(value)
    raise ValueError(f"{field} is {shown(value)}, which is no whole number from {least} to {most}")


def milliseconds(field: str, value: object) -> float:
    if is_number(value) and 0 <= value < sys.float_info.max:
        return float(value)
    raise ValueError(f"{field} is {shown(value)}, which is no time")


def is_number(value: object) -> TypeGuard[int | float]:
    """True and false are numbers to Python, but not to JSON; 1e999 is infinite."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) != math.inf


def no_number(name: str) -> float:
    raise ValueError(f"{name} is no number")


def shown(value: object) -> str:
    return repr(value)[:40]
