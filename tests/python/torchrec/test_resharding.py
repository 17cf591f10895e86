"""Plans that are near to a running one, and the way there while training goes on."""

import logging
from pathlib import Path
from typing import Any

import pytest
import torch
from fbgemm_gpu.split_embedding_configs import EmbOptimType
from planner_cases import SHARDERS, bags, pieces_of, planner, topology
from rank_runs import results_of_ranks
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.planner.types import ParameterConstraints, PlannerError
from torchrec.distributed.types import ShardingPlan

from neuroshard import TableRules


@pytest.mark.parametrize("world_size", [2, 4])
def test_training_goes_on_as_without_a_new_plan(world_size: int, tmp_path: Path) -> None:
    first, second = results_of_ranks("reshard_rank.py", world_size, tmp_path)[:2]
    for optimizer in ("EXACT_SGD", "EXACT_ADAGRAD", "EXACT_ROWWISE_ADAGRAD"):
        result = first[optimizer]
        assert second[optimizer]["moved_bytes"] == result["moved_bytes"] > 0
        # Then features are looked up in another order.
        assert result["moved_tables"] == (["a"] if world_size == 2 else ["a", "c"])
        assert result["mib"] * (1 << 20) == result["moved_bytes"]
        assert result["saves"] > 0.0
        assert set(result["difference"].values()) == {0.0} and result["trained"] > 0.0
    # Adagrad has a state for each weight.
    assert first["EXACT_ADAGRAD"]["moved_bytes"] == 2 * first["EXACT_SGD"]["moved_bytes"]
    for rank in (first, second):
        nothing, other_plan, hashes = rank["refusals"]
        assert nothing == "[] 0"
        assert "running_plan: it has 0 tables, and the model 4" in other_plan
        assert "set PYTHONHASHSEED=0" in hashes


TABLES = {name: (100_000, 64) for name in "abcdef"}
TABLE_BYTES = 100_000 * 64 * 4
ADAM = [EmbeddingBagCollectionSharder(fused_params={"optimizer": EmbOptimType.ADAM})]


def model() -> torch.nn.Module:
    return torch.nn.ModuleDict({"x": bags(TABLES)})


def plan_on_one_rank(
    sharders: list[Any] = SHARDERS, kinds: dict[str, list[str]] = {}
) -> tuple[ShardingPlan, dict[str, ParameterConstraints]]:
    """A plan that has all tables but those of other `kinds` on the first rank, and the constraints it was made with."""
    constraints = {
        name: ParameterConstraints(sharding_types=kinds.get(name, ["table_wise"]), min_partition=32) for name in TABLES
    }
    rules = {name: TableRules(devices=[0]) for name in TABLES if name not in kinds}
    made = planner(topology=topology(4), constraints=constraints, rules=rules)
    return made.plan(model(), sharders), constraints


def test_no_more_is_moved_than_the_budget_allows() -> None:
    running, constraints = plan_on_one_rank()
    costs = []
    for budget in (0, TABLE_BYTES, 2 * TABLE_BYTES, 10 * TABLE_BYTES):
        made = planner(topology=topology(4), constraints=constraints)
        change = made.replan(model(), SHARDERS, running, budget)
        assert change.moved_bytes <= budget
        changed = change.delta["x"][1] if change.delta else {}
        assert change.moved_bytes == len(changed) * TABLE_BYTES == sum(mib for mib, _ in change.delta.values()) * 2**20
        for name in TABLES:
            moved = pieces_of(change.plan, "x", name) != pieces_of(running, "x", name)
            assert moved == (name in changed)
        assert made.cost is not None and "doctype" in made.to_html()
        costs.append(made.cost.cost_ms)
    assert costs == sorted(costs, reverse=True) and costs[-1] < 0.8 * costs[0]


def test_kinds_of_sharding_stay() -> None:
    running, constraints = plan_on_one_rank(kinds={"a": ["column_wise"], "b": ["column_wise"]})
    change = planner(topology=topology(4), constraints=constraints).replan(model(), SHARDERS, running, 1 << 30)
    assert change.moved_bytes > 0
    for name in TABLES:
        sharding = change.plan.plan["x"][name]  # type: ignore[index]
        assert sharding.sharding_type == ("column_wise" if name in "ab" else "table_wise")
        ranks = [rank for _, _, rank in pieces_of(change.plan, "x", name)]
        assert len(set(ranks)) == len(ranks)


@pytest.mark.parametrize(
    ("sharders", "kinds", "why"),
    [
        (ADAM, {}, "of its optimizer's states only the first would be moved"),
        (SHARDERS, {"a": ["data_parallel"]}, "its module has data-parallel tables"),
    ],
)
def test_what_torchrec_cannot_move_stays(
    sharders: list[Any], kinds: dict[str, list[str]], why: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    running, constraints = plan_on_one_rank(sharders, kinds)
    change = planner(topology=topology(4), constraints=constraints).replan(model(), sharders, running, 1 << 30)
    assert (change.delta, change.moved_bytes) == ({}, 0)
    assert f"leaves table x.b where it is, since TorchRec cannot reshard it: {why}" in caplog.text
    ruled = planner(topology=topology(4), constraints=constraints, rules={"b": TableRules(devices=[1])})
    with pytest.raises(PlannerError, match="rules: table x.b stays where it is"):
        ruled.replan(model(), sharders, running, 1 << 30)
