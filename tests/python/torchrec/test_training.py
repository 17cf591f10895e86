"""Plans of NeuroShardPlanner under DistributedModelParallel: the sharded model trains as the unsharded one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SECONDS = 300


@pytest.mark.parametrize("world_size", [2, 4])
def test_sharded_training_is_that_of_the_unsharded_model(world_size: int, tmp_path: Path) -> None:
    ranks = [
        subprocess.Popen(
            [sys.executable, "training_rank.py", str(rank), str(world_size), str(tmp_path)],
            cwd=HERE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(world_size)
    ]
    try:
        output = [rank.communicate(timeout=SECONDS)[0] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    assert [rank.returncode for rank in ranks] == [0] * world_size, "\n".join(text[-3000:] for text in output)
    kinds = set()
    for rank in range(world_size):
        results = json.loads((tmp_path / f"results of rank {rank}").read_text())
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
