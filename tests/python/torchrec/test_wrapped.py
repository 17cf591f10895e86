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
    logs = [tmp_path / f"log of rank {rank}" for rank in range(RANKS)]
    ranks = []
    for rank, log in enumerate(logs):
        command = [sys.executable, "wrapped_rank.py", str(rank), str(RANKS), str(tmp_path)]
        with log.open("w") as output:
            ranks.append(subprocess.Popen(command, cwd=HERE, stdout=output, stderr=subprocess.STDOUT))
    try:
        returned = [process.wait(timeout=SECONDS) for process in ranks]
    finally:
        for process in ranks:
            process.kill()
    assert returned == [0] * RANKS, "\n".join(log.read_text()[-3000:] for log in logs)
    for rank in range(RANKS):
        results = json.loads((tmp_path / f"results of rank {rank}").read_text())
        for name in ("processed", "mean"):
            error, kinds = results[name]
            assert error < 1e-5, name
        assert not {"row_wise", "table_row_wise", "grid_shard"} & set(kinds)
        # By rows beside whole tables, TorchRec would divide the outputs of all of them.
        assert "would compute wrong outputs of" in results["mean by rows"]
