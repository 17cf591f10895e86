"""Plans of NeuroShardPlanner under DistributedModelParallel: the sharded model trains as the unsharded one."""

from pathlib import Path

import pytest
from rank_runs import results_of_ranks


@pytest.mark.parametrize("world_size", [2, 4])
def test_sharded_training_is_that_of_the_unsharded_model(world_size: int, tmp_path: Path) -> None:
    kinds = set()
    for rank, results in enumerate(results_of_ranks("training_rank.py", world_size, tmp_path)):
        for name, result in results.items():
            where = f"{name}, rank {rank}: {result}"
            rounding = 5e-4 if "fp16" in name else 2e-5
            kinds.update(result["kinds"].values())
            if "options" in result:  # By our planner, on rank 0.
                assert result["options"] == (len(result["kinds"]) if rank == 0 else 0), where
            assert result["loaded"] == 0.0, where
            assert result["forward"] <= 10 * rounding, where  # Sums of several weights.
            assert result["weights"] <= rounding, where
            assert result["moved"] > 20 * rounding, where
            assert result["state_dict_loads"] and result["zeroed"] and result["checkpoint_loads"], where
            assert rank > 0 or result["gathered"] <= rounding, where
            for pieces in result["pieces"].values():
                assert len({columns for _, columns in pieces}) <= 1, where
        if world_size == 2:
            assert results["rows by the search"]["kinds"]["session"] == "row_wise"
        else:
            asked = {"user": "grid_shard", "country": "data_parallel", "item": "row_wise", "brand": "table_row_wise"}
            assert asked.items() <= results["all kinds, adagrad"]["kinds"].items()
            assert len(results["published tables"]["kinds"]) == 34
    of_two = {"table_wise", "column_wise", "row_wise"}
    assert kinds == (of_two if world_size == 2 else of_two | {"table_row_wise", "grid_shard", "data_parallel"})
