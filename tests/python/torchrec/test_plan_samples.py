"""tools/examples/torchrec/plan_samples.py: samples of plans, in the form that price_samples.py and `train` take."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import neuroshard

ROOT = Path(__file__).parents[3]
SCRIPTS = ROOT / "tools" / "examples" / "torchrec"
WEIGHTS = ROOT / "weights" / "pretrained" / "a100.safetensors"


def run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPTS / script), *map(str, arguments)], capture_output=True, text=True
    )


def table_configs(path: Path) -> Path:
    tables = [neuroshard.Table(1000 << i, 64, 0.5 + 3 * i) for i in range(12)]
    path.write_text(
        json.dumps(
            [
                {
                    "row": table.rows,
                    "pooling_factor": table.pooling_factor,
                    **{f"bin_{bin}": share for bin, share in enumerate(table.access_histogram)},
                    **({"dim": 32} if i == 0 else {}),
                }
                for i, table in enumerate(tables)
            ]
        )
    )
    return path


def planned(tmp_path: Path, name: str, *options: object) -> Path:
    configs = table_configs(tmp_path / "table_configs.json")
    folder = tmp_path / name
    ran = run("plan_samples.py", configs, folder, "--weights", WEIGHTS, "--devices", 4, "--tasks", 6, *options)
    assert ran.returncode == 0, ran.stderr
    return folder


def test_samples_are_devices_of_plans(tmp_path: Path) -> None:
    folder = planned(tmp_path, "plans")
    lines = [line.split() for line in (folder / "data.txt").read_text().splitlines()]
    configs = json.loads((folder / "table_configs.json").read_text())
    assert 6 <= len(lines) <= 4 * 6
    assert len({(config["row"], config["dim"]) for config in configs}) == len(configs)
    assert {config["dim"] for config in configs if config["row"] == 1000} <= set(range(4, 33, 4))  # Its own dim.
    used = set()
    for ids, cost_ms in lines:
        held = [configs[int(number)] for number in ids.split(",")]
        used |= set(ids.split(","))
        tables = [
            neuroshard.Table(
                config["row"],
                config["dim"],
                config["pooling_factor"],
                access_histogram=[config[f"bin_{bin}"] for bin in range(17)],
            )
            for config in held
        ]
        task = neuroshard.Task(tables, devices=1, memory_bytes=1 << 40)
        plan = neuroshard.plan_from_slices(task, [(0, i, 0, table.dim) for i, table in enumerate(tables)])
        weights = neuroshard.Weights.load(WEIGHTS)
        predicted = neuroshard.simulate(task, plan, weights=weights).compute_ms[0]
        assert float(cost_ms) == pytest.approx(predicted, rel=1e-4)
    assert len(used) == len(configs)
    again = planned(tmp_path, "again")
    assert (again / "data.txt").read_text() == (folder / "data.txt").read_text()
    other = planned(tmp_path, "other", "--seed", 1)
    assert (other / "data.txt").read_text() != (folder / "data.txt").read_text()


def test_they_can_be_priced(tmp_path: Path) -> None:
    folder = planned(tmp_path, "plans")
    ran = run("price_samples.py", folder, tmp_path / "priced", "--devices", 4)
    assert ran.returncode == 0, ran.stderr
    of = [(path / "data.txt").read_text().splitlines() for path in (folder, tmp_path / "priced")]
    assert [line.split()[0] for line in of[0]] == [line.split()[0] for line in of[1]]
    assert all(float(line.split()[1]) > 0 for line in of[1])


def test_no_tables_are_refused(tmp_path: Path) -> None:
    (tmp_path / "table_configs.json").write_text("[]")
    ran = run(
        "plan_samples.py", tmp_path / "table_configs.json", tmp_path / "plans", "--weights", WEIGHTS, "--devices", 4
    )
    assert ran.returncode != 0 and "has no tables" in ran.stderr and not (tmp_path / "plans").exists()
