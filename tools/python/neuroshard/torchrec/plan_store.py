"""Plans in files, by fingerprint, so that a job that starts again shards as it did before."""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import torch
from torch import nn
from torchrec.distributed.planner.types import Perf, PlanLoader, Shard, ShardingOption, Storage

from neuroshard.errors import Error
from neuroshard.sharding_plan_file import StoredPlan, StoredShard, StoredTable, load_stored_plan, save_stored_plan
from neuroshard.torchrec.model_tables import ModelTable, with_shards


def shard_of(stored: StoredShard) -> Shard:
    """Raises Error if it speaks of memory or times that this TorchRec does not know."""
    try:
        return Shard(
            size=list(stored.size),
            offset=list(stored.offset),
            rank=stored.rank,
            storage=Storage(**stored.storage),
            perf=Perf(**stored.perf),
        )
    except TypeError as error:
        raise Error(f"stored plan: {error}; delete its file") from error


def options_of(plan: StoredPlan, tables: Sequence[ModelTable], ranks: int) -> list[ShardingOption]:
    """Options of `tables`, with the stored shards. Raises Error if the plan is one of other tables or ranks."""
    of_model = {option.storage_hash(): option for table in tables for option in table.options}
    for stored in plan.tables:
        option = of_model.get(stored.option)
        if option is None or (option.path, option.name) != (stored.path, stored.name):
            raise Error(f"stored plan {plan.fingerprint}: table {stored.name} is none of the model; delete its file")
        for shard in stored.shards:
            if shard.rank >= ranks:
                raise Error(
                    f"stored plan {plan.fingerprint}: table {stored.name} has a shard on rank {shard.rank} of {ranks}; "
                    "delete its file"
                )
            ends = [first + extent for first, extent in zip(shard.offset, shard.size)]
            if any(end > extent for end, extent in zip(ends, option.tensor.shape)):
                raise Error(f"stored plan {plan.fingerprint}: table {stored.name} ends before a shard; delete its file")
    planned = sorted((stored.path, stored.name) for stored in plan.tables)
    if planned != sorted((table.path, table.name) for table in tables):
        raise Error(f"stored plan {plan.fingerprint}: its tables are not those of the model; delete its file")
    return [with_shards(of_model[stored.option], [shard_of(shard) for shard in stored.shards]) for stored in plan.tables]


class PlanStore:
    """A folder of plans, a file each. Processes may share it: a file appears whole or not at all."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """`folder` is made when the first plan is saved."""
        self._folder = Path(folder)

    def fingerprints(self) -> list[str]:
        """Fingerprints of all plans, in ascending order."""
        return sorted(path.stem for path in self._folder.glob("*.json"))

    def load(self, fingerprint: str) -> StoredPlan | None:
        """None if there is none. Raises Error if its file is damaged or cannot be read."""
        path = self._path(fingerprint)
        stored = load_stored_plan(path)
        if stored is None:
            return None
        if stored.fingerprint != fingerprint:
            raise Error(f"{path}: has the fingerprint {stored.fingerprint}; files are named by theirs")
        return stored

    def save(self, plan: StoredPlan) -> None:
        """Takes the place of one with the same fingerprint. Raises Error if it cannot be written."""
        save_stored_plan(self._path(plan.fingerprint), plan)

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
        """The shards of each table, by the option that they are of; None if the store has no such plan."""
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
                shards=[shard_of(shard) for shard in table.shards],
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
    by_search: str,
    planner_context: str,
    rooms: Sequence[int],
    option_bytes: Sequence[int],
    candidates: int,
    *,
    by_estimates: bool,
) -> str:
    """16 hexadecimal digits for all that decides a plan.

    `by_search`: fingerprint of the task, the search and its cost models (docs/fingerprint.md). `planner_context`:
    TorchRec's of the model and the planner, in which memory is rounded to 100 GB and optimizers that `fused_params`
    name do not count; so `rooms`, the memory of each rank, and `option_bytes`, that of each option, count as well.
    So do `candidates`, of which more than one are compared by TorchRec's estimates, and whether plans are to be cheap
    `by_estimates`.
    """
    items: list[object] = ["neuroshard.sharding_plan 1", by_search, planner_context, list(rooms), list(option_bytes)]
    if candidates > 1:
        items.append(candidates)
    if by_estimates:
        items.append("by estimates")
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
