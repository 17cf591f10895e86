"""tools/examples/torchrec/price_samples.py: what its samples cost is what TorchRec's planner says of such devices."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.planner.enumerators import EmbeddingEnumerator
from torchrec.distributed.planner.perf_models import NoopPerfModel
from torchrec.distributed.planner.types import ParameterConstraints, Perf, Topology
from torchrec.modules.embedding_configs import EmbeddingBagConfig
from torchrec.modules.embedding_modules import EmbeddingBagCollection

SCRIPT = Path(__file__).parents[3] / "tools" / "examples" / "torchrec" / "price_samples.py"
DEVICES = 16
# A wide table, what column-wise sharding makes of it, and one with lookups for some samples only.
TABLES = [
    {"row": 10_000, "dim": 128, "pooling_factor": 5.5},
    {"row": 10_000, "dim": 64, "pooling_factor": 5.5},
    {"row": 300, "dim": 16, "pooling_factor": 0.25},
]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True)


def collected(folder: Path, data: str, tables: list[dict[str, float]] | None, batch: str = "65536") -> Path:
    folder.mkdir()
    description = {"kind": "compute", "batch": batch, "source": "analytic", "hardware": "a100-sxm-80gb", "seed": "3"}
    collection = {"format": "neuroshard collection", "version": 1, "description": description}
    (folder / "collection.json").write_text(json.dumps(collection))
    (folder / "data.txt").write_text(data)
    if tables is not None:
        (folder / "table_configs.json").write_text(json.dumps(tables))
    return folder


def planners_ms(kind: str) -> float:
    """Cost that TorchRec's planner takes TABLES 0 and 2 for, table 0 by `kind`, its shards and table 2 on one
    device."""
    configs = [
        EmbeddingBagConfig(
            name=f"t{i}", num_embeddings=int(table["row"]), embedding_dim=int(table["dim"]), feature_names=[f"f{i}"]
        )
        for i, table in enumerate(TABLES)
        if i != 1
    ]
    topology = Topology(
        world_size=DEVICES,
        local_world_size=8,
        compute_device="cuda",
        hbm_mem_bw=1000e6,
        intra_host_bw=300e6,
        inter_host_bw=25e6,
    )
    constraints = {
        f"t{i}": ParameterConstraints(
            sharding_types=[kind if i == 0 else "table_wise"],
            compute_kernels=["fused"],
            pooling_factors=[table["pooling_factor"]],
            min_partition=64,
        )
        for i, table in enumerate(TABLES)
    }
    enumerator = EmbeddingEnumerator(topology=topology, batch_size=65536 // DEVICES, constraints=constraints)
    model = EmbeddingBagCollection(tables=configs, device=torch.device("meta"))
    options = enumerator.enumerate(model, [EmbeddingBagCollectionSharder()])
    for option in options:
        for shard in option.shards:
            shard.rank = 0
    return float(NoopPerfModel(topology).rate(options))


def test_a_device_costs_what_the_planner_says(tmp_path: Path) -> None:
    samples = collected(tmp_path / "compute", "0,2 7.5\n1,1,2 0.25\n", TABLES)
    output = tmp_path / "priced"
    ran = run(str(samples), str(output), "--devices", str(DEVICES), "--memory-gb-per-s", "1000")
    assert ran.returncode == 0, ran.stderr
    lines = [line.split() for line in (output / "data.txt").read_text().splitlines()]
    assert [line[0] for line in lines] == ["0,2", "1,1,2"]
    assert float(lines[0][1]) == pytest.approx(planners_ms("table_wise"), rel=1e-8)
    assert float(lines[1][1]) == pytest.approx(planners_ms("column_wise"), rel=1e-8)
    assert json.loads((output / "table_configs.json").read_text()) == TABLES
    description = json.loads((output / "collection.json").read_text())["description"]
    assert description["source"].startswith("torchrec: estimates of TorchRec ") and description["seed"] == "3"
    assert description["hardware"].startswith("16 devices, 8 a node, 1000, 300 and 25 GB/s")


def estimate(table: dict[str, float], kind: str, kernel: str, devices: int) -> Perf:
    """Estimate of the first shard of a table."""
    topology = Topology(
        world_size=devices,
        local_world_size=min(devices, 8),
        compute_device="cuda",
        hbm_mem_bw=2039e6,
        intra_host_bw=300e6,
        inter_host_bw=25e6,
    )
    constraints = {
        "t": ParameterConstraints(
            sharding_types=[kind], compute_kernels=[kernel], pooling_factors=[table["pooling_factor"]]
        )
    }
    config = EmbeddingBagConfig(
        name="t", num_embeddings=int(table["row"]), embedding_dim=int(table["dim"]), feature_names=["f"]
    )
    enumerator = EmbeddingEnumerator(topology=topology, batch_size=65536 // devices, constraints=constraints)
    model = EmbeddingBagCollection(tables=[config], device=torch.device("meta"))
    (option,) = enumerator.enumerate(model, [EmbeddingBagCollectionSharder()])
    return option.shards[0].perf


@pytest.mark.parametrize("devices, counts", [(16, [16]), (8, [8, 4, 2])])
def test_row_blocks_and_replicas_cost_what_the_planner_says(tmp_path: Path, devices: int, counts: list[int]) -> None:
    samples = collected(tmp_path / "compute", "0,2 7.5\n", TABLES)
    output = tmp_path / "priced"
    ran = run(str(samples), str(output), "--devices", str(devices))
    assert ran.returncode == 0, ran.stderr
    kinds = [line.split() for line in (output / "kinds" / "data.txt").read_text().splitlines()]
    all_reduce = [line.split() for line in (output / "all_reduce" / "data.txt").read_text().splitlines()]
    assert len(kinds) == 9 * len(counts) and len(all_reduce) == 3 * len(counts)
    for i, count in enumerate(counts):
        for t, table in enumerate(TABLES):
            of_table = [kinds[9 * i + 3 * kind + t] for kind in range(3)]
            assert [line[:4] for line in of_table] == [
                [kind, str(shared_by), "65536", str(table["dim"])]
                for kind, shared_by in [("row", count), ("table_row", min(count, 8)), ("replicate", count)]
            ]
            assert all(float(line[4]) == table["pooling_factor"] for line in of_table)
            replica = estimate(table, "data_parallel", "dense", count)
            costs = [
                estimate(table, "row_wise", "fused", count).total,
                estimate(table, "table_row_wise", "fused", count).total,
                replica.total - replica.bwd_comms,
            ]
            assert [float(line[5]) for line in of_table] == pytest.approx(costs, rel=1e-8)
            exchanged = all_reduce[3 * i + t]
            assert exchanged[:2] == [str(count), str(4 * int(table["row"] * table["dim"]))]
            assert float(exchanged[2]) == pytest.approx(replica.bwd_comms, rel=1e-8)
    for folder, kind in [("kinds", "kinds"), ("all_reduce", "all-reduce")]:
        description = json.loads((output / folder / "collection.json").read_text())["description"]
        assert description["kind"] == kind and description["source"].startswith("torchrec: ")


def test_whole_devices_cost_nothing_on_top(tmp_path: Path) -> None:
    samples = collected(tmp_path / "comm", "64,128 0,1.5 0.25,0.125 0.5,0.5\n", None)
    assert run(str(samples), str(tmp_path / "priced"), "--devices", "2").returncode == 0
    assert (tmp_path / "priced" / "data.txt").read_text() == "64,128 0,1.5 0,0 0,0\n"


def test_a_batch_that_devices_cannot_share_is_refused(tmp_path: Path) -> None:
    samples = collected(tmp_path / "compute", "0 1.0\n", TABLES, batch="1000")
    ran = run(str(samples), str(tmp_path / "priced"), "--devices", "16")
    assert ran.returncode != 0 and "a batch of 1000 cannot be shared by 16 devices" in ran.stderr
    assert not (tmp_path / "priced").exists()
