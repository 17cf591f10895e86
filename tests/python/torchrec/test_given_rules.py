"""Rules and groups that a user gives by names of tables."""

import pytest
import torch
from fbgemm_gpu.split_embedding_configs import EmbOptimType
from planner_cases import SHARDERS, bags, pieces_of, planner, topology
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.planner.types import ParameterConstraints, PlannerError
from torchrec.distributed.types import ShardingPlan

import neuroshard
from neuroshard import TableRules
from neuroshard.torchrec import PlanStore

TABLES = {name: (100_000 + 1000 * place, 64) for place, name in enumerate("abcdef")}
FOUR_RANKS = topology(4, node=2)


def model() -> torch.nn.Module:
    return torch.nn.ModuleDict({"x": bags(TABLES)})


def ranks_of(plan: ShardingPlan, name: str) -> set[int]:
    return {rank for _, _, rank in pieces_of(plan, "x", name)}


def test_tables_are_where_rules_say() -> None:
    made = planner(
        topology=FOUR_RANKS,
        rules={
            "a": TableRules(devices=[3]),
            "x.b": TableRules(nodes=[1]),
            "c": TableRules(not_devices=[0, 1], keep_in_hbm=True),
            "d": TableRules(not_nodes=[0]),
            "e": TableRules(no_split=True),
            "f": TableRules(max_slices=2),
        },
    )
    plan = made.plan(model(), SHARDERS)
    assert ranks_of(plan, "a") == {3}
    assert all(ranks_of(plan, name) <= {2, 3} for name in "bcd")
    assert len(pieces_of(plan, "x", "e")) == 1 and len(pieces_of(plan, "x", "f")) <= 2
    assert made.task is not None
    assert list(made.task.tables[0].rules.devices) == [3]
    free = planner(topology=FOUR_RANKS)
    free.plan(model(), SHARDERS)
    assert made.cost is not None and free.cost is not None and made.cost.cost_ms > free.cost.cost_ms
    assert any("device" in str(rule) for rule in made.explain(rules=True).rules)


def test_tables_are_together_and_apart() -> None:
    made = planner(topology=FOUR_RANKS, keep_together=[["a", "x.b"]], keep_apart=[["a", "c"], ["d", "e", "f"]])
    plan = made.plan(model(), SHARDERS)
    assert len(ranks_of(plan, "a")) == 1 and ranks_of(plan, "a") == ranks_of(plan, "b")
    for one, other in ("ac", "de", "df", "ef"):
        assert not ranks_of(plan, one) & ranks_of(plan, other)
    assert made.task is not None and [group.keep for group in made.task.groups] == ["together", "apart", "apart"]


@pytest.mark.parametrize("nodes", [[], [1]])
def test_rows_are_where_rules_say(nodes: list[int]) -> None:
    """Row-wise tables are on all ranks, so that tables with rules on ranks are not."""
    kinds = ["table_wise", "row_wise", "table_row_wise", "data_parallel"]
    lookups = {name: ParameterConstraints(sharding_types=kinds, pooling_factors=[500.0]) for name in "ab"}
    rules = {name: TableRules(nodes=nodes) if nodes else TableRules(devices=[1]) for name in "ab"}
    plan = planner(topology=FOUR_RANKS, constraints=lookups, rules=rules).plan(model(), SHARDERS)
    for name in "ab":
        assert ranks_of(plan, name) <= ({2, 3} if nodes else {1})


def test_plans_with_other_rules_are_kept_apart(tmp_path) -> None:  # type: ignore[no-untyped-def]
    arguments = {"topology": FOUR_RANKS, "plan_store": PlanStore(tmp_path)}
    made = [
        planner(**arguments),
        planner(**arguments, rules={"a": TableRules(devices=[3])}),
        planner(**arguments, keep_together=[["a", "b"]]),
    ]
    for one in made:
        one.plan(model(), SHARDERS)
    assert len({one.fingerprint for one in made}) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rules": {"a": TableRules(kinds=["table"])}}, "rules: kinds of table a .*; give sharding_types"),
        ({"rules": {"a": TableRules(min_width=8)}}, "rules: min_width of table a .*; give min_partition"),
        ({"rules": {"a": TableRules(hbm_share=0.5)}}, "rules: hbm_share of table a .*; give cache_params"),
        ({"rules": {"a": {"devices": [0]}}}, "rules: those of table a are .*; give TableRules"),
        ({"keep_together": [["a"]]}, "keep_together: .*each of at least two names"),
        ({"keep_apart": ["ab"]}, "keep_apart: .*give a list of groups"),
        ({"keep_together": [["a", "a"]]}, "keep_together: .* names table a twice"),
        ({"keep_apart": [["a", "b", "b"]]}, "keep_apart: .* names table b twice"),
    ],
)
def test_arguments(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(neuroshard.Error, match=message):
        planner(**arguments)


def test_ranks_of_rules_are_those_of_the_model_where_memory_decides() -> None:
    """Weights alone fit anywhere; with Adam's states the other tables have to go to the other rank."""
    used = planner(topology=topology(2, hbm_cap=int(816e6)), rules={"t0": TableRules(devices=[1])})
    sharders = [EmbeddingBagCollectionSharder(fused_params={"optimizer": EmbOptimType.ADAM})]
    plan = used.plan(bags({f"t{index}": (1_000_000 >> index, 64) for index in range(4)}), sharders)
    assert used._searches > 1 and [rank for _, _, rank in pieces_of(plan, "", "t0")] == [1]


CACHED = {"a": ParameterConstraints(compute_kernels=["fused_uvm_caching"])}
BY_ROWS = {"a": ParameterConstraints(sharding_types=["row_wise"])}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rules": {"z": TableRules(devices=[0])}}, "rules: the model has no table z; it has x.a"),
        ({"keep_apart": [["a", "z"]]}, "keep_apart: the model has no table z"),
        ({"keep_together": [["a", "x.a"]]}, "keep_together: .* are names of one table"),
        ({"rules": {"a": TableRules(devices=[4])}}, "device 4"),
        ({"rules": {"a": TableRules(keep_in_hbm=True)}, "constraints": CACHED}, "rules: keep_in_hbm of table x.a: constraints let it be"),
        ({"keep_together": [["a", "b"]], "constraints": BY_ROWS}, "keep_together, keep_apart: TorchRec .* table x.a"),
        ({"keep_apart": [list("abcdef")]}, "apart"),
    ],
)
def test_what_cannot_be_kept_is_an_error(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(PlannerError, match=message):
        planner(topology=FOUR_RANKS, **arguments).plan(model(), SHARDERS)
