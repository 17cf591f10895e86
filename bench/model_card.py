#!/usr/bin/env python3
"""The accuracy tables of docs/model_card.md: built-in weights, or others, against the analytic costs of fresh samples.

Samples are drawn with seeds that weights/pretrained/make.sh does not use, from its tables (of FOLDER, where it keeps
them) and from tables that it never drew. `nsbench accuracy` judges whole plans.
"""

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
TRAINED_BATCH = 65536
# Analytic costs need no memory.
ROOMY = ["--memory-gb", "1e6"]
MANY = ["--max-tables", "60", "--max-dim", "256"]

Row = tuple[str, str, list[str]]  # Name, tables, options of collecting.
COMPUTE_ROWS: list[Row] = [
    ("tables of `tests/data`, trained on, new combinations", "other", []),
    ("the same, 16 to 60 tables", "other", [*MANY, "--memory-gb", "40"]),
    ("published-like tables never seen", "unseen_published", []),
    ("the same, one table", "unseen_published", ["--max-tables", "1"]),
    ("wide tables trained on, new combinations", "wide", ROOMY),
    ("wide tables never seen", "unseen_wide", ROOMY),
    ("the same, one table", "unseen_wide", [*ROOMY, "--max-tables", "1"]),
    ("the same, up to 60 tables", "unseen_wide", [*ROOMY, *MANY]),
    ("the same, dims 200, 100", "unseen_wide", [*ROOMY, "--max-dim", "200"]),
    (
        "replicas' operators: up to 100 tables never seen of up to a million rows, a device's part of any batch",
        "unseen_wide",
        [*ROOMY, "--shares", "--max-rows", "1000000", "--max-tables", "100", "--max-dim", "256"],
    ),
]
ANY_BATCH_ROWS: list[Row] = [
    ("tables of `tests/data`, trained on, dims to 256", "other", ["--max-dim", "256", *ROOMY]),
    ("wide tables trained on", "wide", ["--max-dim", "256", *ROOMY]),
    ("published-like tables never seen", "unseen_published", ["--max-dim", "256", *ROOMY]),
    ("wide tables never seen", "unseen_wide", ["--max-dim", "256", *ROOMY]),
    ("the same, tables of all kinds", "unseen_wide", ["--max-dim", "256", *ROOMY, "--table-kinds"]),
    ("row blocks of wide tables never seen", "unseen_wide", [*ROOMY, *MANY, "--row-blocks"]),
    (
        "1 to 600 slices of wide tables never seen",
        "unseen_wide",
        [*ROOMY, "--slices", "--max-tables", "600", "--max-dim", "256"],
    ),
]
# Fields of table_configs.json that all tables of a column have.
KINDS: dict[str, dict[str, object]] = {
    "fp32 sums": {},
    "fp16": {"weight_type": "fp16"},
    "int8": {"weight_type": "int8"},
    "Adam": {"optimizer": "adam"},
    "means": {"pooling": "mean"},
    "not pooled": {"pooling": "none"},
    "weighted": {"weighted": True},
}
KIND_ROWS: list[Row] = [
    ("published-like tables never seen", "unseen_published", []),
    ("wide tables never seen", "unseen_wide", ROOMY),
    ("the same, one table", "unseen_wide", [*ROOMY, "--max-tables", "1"]),
    ("the same, dims to 16", "unseen_wide", [*ROOMY, "--max-dim", "16"]),
    ("the same, dims to 256, any batch", "unseen_wide", [*ROOMY, "--max-dim", "256", "--batches"]),
    (
        "1 to 600 slices of wide tables never seen, any batch",
        "unseen_wide",
        [*ROOMY, "--slices", "--max-tables", "600", "--max-dim", "256", "--batches"],
    ),
]
COMM_BATCHES = [1024, 4096, 1048576, 4194304]
COMM_BATCH_DEVICES = [8, 64, 200, 1024]
COMM_DEVICES = [2, 4, 8, 16, 32, 64, 128, 200, 1024]


class Bench:
    def __init__(self, options: argparse.Namespace):
        self.program = options.program
        self.folder = Path(options.folder)
        self.work = self.folder / "model_card"
        self.hardware = options.hardware
        self.models = ["--weights", options.weights] if options.weights else ["--hardware", options.hardware]
        self.samples = options.samples
        self.tables = {
            "other": ROOT / "tests/data/golden/tables/table_configs.json",
            "wide": self.folder / "wide/table_configs.json",
            "unseen_wide": self.work / "unseen_wide/table_configs.json",
            "unseen_published": self.work / "unseen_published/table_configs.json",
        }

    def run(self, *arguments: object) -> str:
        return subprocess.run([self.program, *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True).stdout

    def draw_tables(self) -> None:
        """Draws those of make.sh, if they are not there, and others."""
        drawn: list[tuple[str, list[object]]] = [
            ("wide", ["--wide", "--count", 4000, "--seed", 2]),
            ("unseen_wide", ["--wide", "--count", 1000, "--seed", 1002]),
            ("unseen_published", ["--count", 1000, "--seed", 1001]),
        ]
        for name, options in drawn:
            if not self.tables[name].exists():
                self.run("generate", *options, "--output", self.tables[name].parent)

    def of_kind(self, tables: str, kind: str) -> str:
        """The name of the same tables of this kind."""
        name = f"{tables}_{kind.replace(' ', '_')}"
        self.tables[name] = self.work / f"{name}.json"
        configs = json.loads(self.tables[tables].read_text())
        self.tables[name].write_text(json.dumps([config | KINDS[kind] for config in configs]))
        return name

    def evaluated(self, kind: str, samples: Path) -> list[dict[str, float]]:
        results: list[dict[str, float]] = json.loads(
            self.run("evaluate", kind, *self.models, "--data", samples, "--json")
        )["results"]
        return results

    def compute(self, name: str, tables: str, options: list[str]) -> dict[str, float]:
        samples = self.work / f"compute_{self.hardware}_{name}"
        self.run(
            "collect", "compute", "--backend", "analytic", "--gpu", self.hardware, "--table-configs", self.tables[tables],
            "--samples", self.samples, "--seed", 7001, "--output", samples, *options,
        )  # fmt: skip
        return self.evaluated("compute", samples)[0]

    def comm(self, devices: int, options: list[object]) -> list[dict[str, float]]:
        name = "_".join(str(option).lstrip("-") for option in options)
        samples = self.work / f"comm_{self.hardware}_{devices}_{name}"
        # As many costs of each number of devices: a sample has one for each device.
        self.run(
            "collect", "comm", "--backend", "analytic", "--network", self.hardware, "--devices", devices,
            "--samples", max(20, min(self.samples, 8 * self.samples // devices)), "--seed", 7002, "--output", samples,
            *options,
        )  # fmt: skip
        return self.evaluated("comm", samples)


def percent(value: float, digits: int = 1) -> str:
    return f"{100 * value:.{digits}f} %"


def table(title: list[str], rows: list[list[str]], text_columns: int = 1) -> str:
    rules = ["---"] * text_columns + ["---:"] * (len(title) - text_columns)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [title, rules, *rows]).replace(" --- ", "---").replace(
        " ---: ", "---:"
    )


def print_kinds(bench: Bench, threads: int) -> None:
    kinds = {(tables, kind): bench.of_kind(tables, kind) for tables in {row[1] for row in KIND_ROWS} for kind in KINDS}
    with ThreadPoolExecutor(threads) as executor:
        found = [
            [executor.submit(bench.compute, f"{kinds[tables, kind]}_{i}", kinds[tables, kind], options) for kind in KINDS]
            for i, (_, tables, options) in enumerate(KIND_ROWS)
        ]
    cells = [
        [row[0], *(f"{percent(one.result()['mape'])}, {one.result()['kendall_tau']:.3f}" for one in of_row)]
        for row, of_row in zip(KIND_ROWS, found, strict=True)
    ]
    print(table(["compute, MAPE and Kendall tau", *KINDS], cells) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="FOLDER", help="folder of make.sh, or any: for tables and samples")
    parser.add_argument("--hardware", default="a100", help="hardware of the datasheets, and of the built-in weights")
    parser.add_argument("--weights", help="weights file, in place of the built-in ones")
    parser.add_argument("--samples", type=int, default=3000, help="samples of each row")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--program", default=str(ROOT / "build/release/tools/neuroshard"))
    parser.add_argument("--only-kinds", action="store_true", help="tables of one kind each, and nothing else")
    options = parser.parse_args()
    if not Path(options.program).exists():
        sys.exit(f"model_card.py: no program '{options.program}'; build it: tools/quickstart, or name it by --program")
    bench = Bench(options)
    bench.draw_tables()
    print_kinds(bench, options.threads)
    if options.only_kinds:
        return
    with ThreadPoolExecutor(options.threads) as threads:
        at_once = [threads.submit(bench.compute, str(i), row[1], row[2]) for i, row in enumerate(COMPUTE_ROWS)]
        any_batch = [
            threads.submit(bench.compute, f"any_{i}", row[1], [*row[2], "--batches"])
            for i, row in enumerate(ANY_BATCH_ROWS)
        ]
        comm_by_batch = [
            [threads.submit(bench.comm, devices, ["--wide", "--batch", batch]) for batch in COMM_BATCHES]
            for devices in COMM_BATCH_DEVICES
        ]
        comm = [
            [threads.submit(bench.comm, devices, []), threads.submit(bench.comm, devices, ["--wide"])]
            for devices in COMM_DEVICES
        ]
    for title, rows, accuracies in (
        (f"compute at {TRAINED_BATCH:,} samples, 1 to 15 tables unless said otherwise", COMPUTE_ROWS, at_once),
        ("compute, 1,024 to 4,194,304 samples", ANY_BATCH_ROWS, any_batch),
    ):
        cells = [
            [row[0], percent(found.result()["mape"]), f"{found.result()['kendall_tau']:.3f}"]
            for row, found in zip(rows, accuracies, strict=True)
        ]
        print(table([title, "MAPE", "Kendall tau"], cells) + "\n")
    print("communication, `--wide`, by batch: MAPE\n")
    rows = [
        [f"{devices:,}", *(percent(network["mape"]) for r in found for network in r.result())]
        for devices, found in zip(COMM_BATCH_DEVICES, comm_by_batch, strict=True)
    ]
    title = ["devices", *(cell for batch in COMM_BATCHES for cell in (f"{batch:,}: forward", "backward"))]
    print(table(title, rows, text_columns=0))
    print(f"\ncommunication at {TRAINED_BATCH:,} samples\n")
    rows = []
    for devices, (published, wide) in zip(COMM_DEVICES, comm, strict=True):
        accuracies = [cell for n in published.result() for cell in (percent(n["mape"], 2), f"{n['kendall_tau']:.3f}")]
        rows.append([f"{devices:,}", *accuracies, *(percent(n["mape"], 2) for n in wide.result())])
    title = ["devices", "forward MAPE", "tau", "backward MAPE", "tau", "`--wide`: forward MAPE", "backward MAPE"]
    print(table(title, rows, text_columns=0))


if __name__ == "__main__":
    main()
