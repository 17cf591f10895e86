"""Plans of modules that wrap a collection, and of tables that are weighted or pool by mean, run on ranks: outputs are those of the
unsharded model, or there is no plan."""

from pathlib import Path

import pytest
from rank_runs import results_of_ranks


@pytest.mark.parametrize("world_size", [2, 4])
def test_outputs_are_those_of_the_unsharded_model(world_size: int, tmp_path: Path) -> None:
    for results in results_of_ranks("wrapped_rank.py", world_size, tmp_path):
        for name in ("processed", "weighted", "mean"):
            error, kinds = results[name]
            assert error < 1e-5, name
        assert not {"row_wise", "table_row_wise", "grid_shard"} & set(kinds)
        # By rows beside whole tables, TorchRec would divide the outputs of all of them.
        assert "would compute wrong outputs of" in results["mean by rows"]
