"""Plans of modules that wrap a collection, and of tables that pool by mean, run on ranks: outputs are those of the
unsharded model, or there is no plan."""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
RANKS = 2
SECONDS = 300


def test_outputs_are_those_of_the_unsharded_model(tmp_path: Path) -> None:
    ranks = [
        subprocess.Popen(
            [sys.executable, "wrapped_rank.py", str(rank), str(RANKS), str(tmp_path)],
            cwd=HERE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(RANKS)
    ]
    try:
        output = [rank.communicate(timeout=SECONDS)[0] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    assert [rank.returncode for rank in ranks] == [0] * RANKS, "\n".join(text[-3000:] for text in output)
    for rank in range(RANKS):
        results = json.loads((tmp_path / f"results of rank {rank}").read_text())
        for name in ("processed", "mean"):
            error, kinds = results[name]
            assert error < 1e-5, name
        assert not {"row_wise", "table_row_wise", "grid_shard"} & set(kinds)
        # By rows beside whole tables, TorchRec would divide the outputs of all of them.
        assert "would compute wrong outputs of" in results["mean by rows"]
