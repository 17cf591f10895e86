"""Plans that are near to a running one, and the way there while training goes on."""

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
RANKS = 2
SECONDS = 300


def test_training_goes_on_as_without_a_new_plan(tmp_path: Path) -> None:
    logs = [tmp_path / f"log of rank {rank}" for rank in range(RANKS)]
    ranks = []
    for rank, log in enumerate(logs):
        command = [sys.executable, "reshard_rank.py", str(rank), str(RANKS), str(tmp_path)]
        with log.open("w") as output:
            # TorchRec tags what it sends by hashes of names.
            environment = {**os.environ, "PYTHONHASHSEED": "0"}
            ranks.append(subprocess.Popen(command, cwd=HERE, stdout=output, stderr=subprocess.STDOUT, env=environment))
    try:
        returned = [process.wait(timeout=SECONDS) for process in ranks]
    finally:
        for process in ranks:
            process.kill()
    assert returned == [0] * RANKS, "\n".join(log.read_text()[-3000:] for log in logs)
    first, second = (json.loads((tmp_path / f"results of rank {rank}").read_text()) for rank in range(RANKS))
    for optimizer in ("EXACT_SGD", "EXACT_ADAGRAD", "EXACT_ROWWISE_ADAGRAD"):
        result = first[optimizer]
        assert second[optimizer]["moved_bytes"] == result["moved_bytes"] > 0
        # Then features are looked up in another order.
        assert result["moved_tables"] == ["a"]
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
