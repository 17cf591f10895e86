"""Plans in files, by fingerprint, so that a job that starts again shards as it did before."""

import hashlib
import json
import os
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torchrec.distributed.planner.types import Perf, PlanLoader, Shard, ShardingOption, Storage

from neuroshard.errors import Error
from neuroshard.torchrec.model_tables import ModelTable, with_shards

FORMAT = "neuroshard.sharding_plan"
VERSION = 1


@dataclass(frozen=True)
class StoredShard:
    size: list[int]
    offset: list[int]
    rank: int
    storage: dict[str, int]
    """Bytes, by TorchRec's names of memory."""
    perf: dict[str, float]
    """Milliseconds, by TorchRec's names of what takes them."""

    def shard(self) -> Shard:
        return Shard(
            size=list(self.size),
            offset=list(self.offset),
            rank=self.rank,
            storage=Storage(**self.storage),
            perf=Perf(**self.perf),
        )


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
    """What a planner selected."""

    fingerprint: str
    planner_context: str
    """What TorchRec's planners make of their inputs: hash_planner_context_inputs_str()."""
    tables: list[StoredTable]

    def options(self, tables: Sequence[ModelTable]) -> list[ShardingOption]:
        """Those of `tables`, with the stored shards. Raises Error if the plan is one of other tables."""
        of_model = {option.storage_hash(): option for table in tables for option in table.options}
        for stored in self.tables:
            option = of_model.get(stored.option)
            if option is None or (option.path, option.name) != (stored.path, stored.name):
                raise Error(f"stored plan {self.fingerprint}: table {stored.name} is none of the model; delete its file")
        planned = sorted((stored.path, stored.name) for stored in self.tables)
        if planned != sorted((table.path, table.name) for table in tables):
            raise Error(f"stored plan {self.fingerprint}: its tables are not those of the model; delete its file")
        return [
            with_shards(of_model[stored.option], [shard.shard() for shard in stored.shards]) for stored in self.tables
        ]


class PlanStore:
    """A folder of plans, a file each. Processes may share it: a file appears whole or not at all."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """`folder` is made when the first plan is saved."""
        self._folder = Path(folder)

    def fingerprints(self) -> list[str]:
        """Of all plans, in ascending order."""
        return sorted(path.stem for path in self._folder.glob("*.json"))

    def load(self, fingerprint: str) -> StoredPlan | None:
        """None if there is none. Raises Error if its file is damaged or cannot be read."""
        path = self._path(fingerprint)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise Error(f"{path}: cannot be read: {error}") from error
        try:
            document = json.loads(text)
        except ValueError as error:
            raise Error(f"{path}: not JSON: {error}; delete it, and the plan is sought anew") from error
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise Error(f"{path}: not a stored plan; delete it, and the plan is sought anew")
        if document.get("version") != VERSION:
            raise Error(f"{path}: version is {document.get('version')}; this program reads version {VERSION}")
        try:
            stored = plan_of_document(document)
        except (KeyError, TypeError, ValueError) as error:
            raise Error(f"{path}: {type(error).__name__}: {error}; delete it, and the plan is sought anew") from error
        if stored.fingerprint != fingerprint:
            raise Error(f"{path}: has the fingerprint {stored.fingerprint}; files are named by theirs")
        return stored

    def save(self, plan: StoredPlan) -> None:
        """Takes the place of one with the same fingerprint. Raises Error if it cannot be written."""
        path = self._path(plan.fingerprint)
        document = {"format": FORMAT, "version": VERSION, **asdict(plan)}
        partial = path.with_suffix(f".{os.getpid()}-{secrets.token_hex(4)}.partial")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            try:
                with partial.open("x", encoding="utf-8") as file:
                    json.dump(document, file)
                    file.write("\n")
                    file.flush()
                    os.fsync(file.fileno())
                partial.replace(path)
            finally:
                partial.unlink(missing_ok=True)
        except OSError as error:
            raise Error(f"{path}: cannot be written: {error}") from error

    def loader(self, fingerprint: str) -> "StoredPlanLoader":
        """For `plan_loader` of EmbeddingShardingPlanner, which then takes this plan instead of seeking one."""
        return StoredPlanLoader(self, fingerprint)

    def _path(self, fingerprint: str) -> Path:
        if not fingerprint.isalnum():
            raise Error(f"fingerprint '{fingerprint}' is none; give hexadecimal digits")
        return self._folder / f"{fingerprint}.json"


class StoredPlanLoader(PlanLoader):
    """TorchRec's interface to a stored plan."""

    def __init__(self, store: PlanStore, fingerprint: str) -> None:
        self._store = store
        self._fingerprint = fingerprint

    def load(self) -> dict[int, ShardingOption] | None:
        """Of each table the shards, by the option that they are of; None if the store has no such plan."""
        stored = self._store.load(self._fingerprint)
        if stored is None:
            return None
        return {
            table.option: ShardingOption(
                name=table.name,
                # TorchRec takes tensor and module from its own search space.
                tensor=torch.empty(0, device="meta"),
                module=(table.path, nn.Module()),
                input_lengths=[],
                batch_size=0,
                sharding_type=table.sharding_type,
                partition_by="",
                compute_kernel=table.compute_kernel,
                shards=[shard.shard() for shard in table.shards],
                is_pooled=True,
            )
            for table in stored.tables
        }

    def plan_context_hash(self) -> str | None:
        """TorchRec refuses the plan if this is not what it makes of its own inputs; None if there is no plan."""
        stored = self._store.load(self._fingerprint)
        return None if stored is None else stored.planner_context

    def get_plan_id(self) -> str:
        return self._fingerprint


def fingerprint_of(
    by_search: str, planner_context: str, rooms: Sequence[int], option_bytes: Sequence[int], candidates: int
) -> str:
    """16 hexadecimal digits for all that decides a plan.

    `by_search`: fingerprint of the task, the search and its cost models (docs/fingerprint.md). `planner_context`:
    TorchRec's of the model and the planner, in which memory is rounded to 100 GB and optimizers that `fused_params`
    name do not count; so `rooms`, the memory of each rank, and `option_bytes`, that of each option, count as well.
    So do `candidates`, of which more than one are compared by TorchRec's estimates.
    """
    items: list[object] = ["neuroshard.sharding_plan 1", by_search, planner_context, list(rooms), list(option_bytes)]
    if candidates > 1:
        items.append(candidates)
    text = json.dumps(items)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def stored_plan(
    fingerprint: str, planner_context: str, selected: Sequence[ShardingOption], tables: Sequence[ModelTable]
) -> StoredPlan:
    """`selected`, which have ranks and estimates, are options of `tables` with other shards."""
    hashes = {
        (option.path, option.name, option.sharding_type, option.compute_kernel): option.storage_hash()
        for table in tables
        for option in table.options
    }
    return StoredPlan(
        fingerprint,
        planner_context,
        [
            StoredTable(
                option.path,
                option.name,
                option.sharding_type,
                option.compute_kernel,
                hashes[option.path, option.name, option.sharding_type, option.compute_kernel],
                [
                    StoredShard(
                        size=list(shard.size),
                        offset=list(shard.offset),
                        rank=shard.rank,
                        storage=asdict(shard.storage),
                        perf=asdict(shard.perf),
                    )
                    for shard in option.shards
                ],
            )
            for option in selected
        ],
    )


def plan_of_document(document: dict[str, Any]) -> StoredPlan:
    """Raises KeyError, TypeError or ValueError if something is missing or of another kind."""
    return StoredPlan(
        fingerprint=str(document["fingerprint"]),
        planner_context=str(document["planner_context"]),
        tables=[
            StoredTable(
                path=str(table["path"]),
                name=str(table["name"]),
                sharding_type=str(table["sharding_type"]),
                compute_kernel=str(table["compute_kernel"]),
                option=int(table["option"]),
                shards=[
                    StoredShard(
                        size=[int(extent) for extent in shard["size"]],
                        offset=[int(first) for first in shard["offset"]],
                        rank=int(shard["rank"]),
                        storage={str(kind): int(count) for kind, count in shard["storage"].items()},
                        perf={str(kind): float(ms) for kind, ms in shard["perf"].items()},
                    )
                    for shard in table["shards"]
                ],
            )
            for table in document["tables"]
        ],
    )
