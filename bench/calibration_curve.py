#!/usr/bin/env python3
"""How good weights are that are calibrated with few samples: MAPE over the number of samples.

Samples of a folder (neuroshard collect) are shuffled; the last ones test, the first ones of the others
calibrate, and for comparison models are trained anew on the same few and on all others.

  bench/calibration_curve.py data/compute_h100 --from a100
  bench/calibration_curve.py data/comm_8 --kind comm --from a100 --sizes 50,100,200
"""
import argparse
import json
import random
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="folder of samples")
    parser.add_argument("--kind", choices=("compute", "comm"), default="compute")
    parser.add_argument("--from", dest="start", default="built-in", help="weights to calibrate")
    parser.add_argument("--sizes", default="50,100,200,500", help="numbers of samples")
    parser.add_argument("--draws", type=int, default=5, help="different samples of each number")
    parser.add_argument("--most", type=int, default=20000, help="samples to train anew on")
    parser.add_argument("--test", type=int, default=0, help="samples held back; 0: a fifth")
    parser.add_argument("--epochs", type=int, default=60, help="of training anew on all")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--neuroshard", default="build/release/tools/neuroshard")
    parser.add_argument("--no-scratch", action="store_true", help="train nothing anew")
    return parser.parse_args()


class Curve:
    def __init__(self, options, scratch):
        self.options = options
        self.scratch = scratch
        self.lines = (options.data / "data.txt").read_text().splitlines()
        random.Random(0).shuffle(self.lines)
        tested = options.test or len(self.lines) // 5
        self.test = self.folder("test", self.lines[-tested:])
        self.lines = self.lines[:-tested]

    def folder(self, name, lines):
        folder = self.scratch / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for file in ("collection.json", "table_configs.json"):
            if (self.options.data / file).exists():
                (folder / file).symlink_to((self.options.data / file).resolve())
        (folder / "data.txt").write_text("\n".join(lines) + "\n")
        return folder

    def run(self, *words):
        command = [self.options.neuroshard, *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)}:\n{done.stderr}")
        return done.stdout

    def mape(self, weights):
        """Of the compute model, or of both communication networks together."""
        said = self.run(
            "evaluate", self.options.kind, "--data", self.test, "--json", *weights
        )
        results = json.loads(said)["results"]
        costs = sum(result["costs"] for result in results)
        return sum(result["mape"] * result["costs"] for result in results) / costs

    def trained(self, lines, *options):
        output = self.scratch / "weights.safetensors"
        data = self.folder("train", lines)
        self.run(
            "train", self.options.kind, "--data", data, "--output", output,
            "--threads", self.options.threads, *options,
        )
        return self.mape(("--weights", output))

    def anew(self, lines, epochs):
        base = self.scratch / "base.safetensors"
        if self.options.kind == "comm":
            self.run("train", "comm", "--from", "built-in", "--data", self.folder("b", lines[:20]),
                     "--epochs", 1, "--output", base)
            own = ("--base", base, "--batch", 32)
        else:
            own = ("--features", "traffic", "--batch", 128)
        own = own if len(lines) > 2000 else own[:-1] + (16,)
        return self.trained(lines, "--loss", "relative", "--epochs", epochs, *own)

    def draw(self, size, number):
        return random.Random(number).sample(self.lines, size)


def percent(values):
    text = f"{100 * statistics.mean(values):.2f} %"
    if len(values) > 1:
        text += f" ({100 * min(values):.2f} to {100 * max(values):.2f})"
    return text


def start_weights(start):
    if start == "built-in":
        return ()
    return ("--weights", start) if Path(start).exists() else ("--hardware", start)


def main():
    options = arguments()
    with tempfile.TemporaryDirectory() as scratch:
        curve = Curve(options, Path(scratch))
        all_lines = curve.lines[: options.most]
        print(f"{options.data}: {len(curve.lines)} samples to train on, from {options.start}\n")
        print("| samples | calibrated: MAPE | trained anew |\n|---:|---:|---:|", flush=True)
        print(f"| 0 | {percent([curve.mape(start_weights(options.start))])} | |", flush=True)
        for size in map(int, options.sizes.split(",")):
            if size > len(curve.lines):
                continue
            draws = [curve.draw(size, number) for number in range(options.draws)]
            calibrated = [curve.trained(lines, "--from", options.start) for lines in draws]
            anew = ""
            if not options.no_scratch:
                anew = percent([curve.anew(lines, 300) for lines in draws[:2]])
            print(f"| {size} | {percent(calibrated)} | {anew} |", flush=True)
        if not options.no_scratch:
            anew = curve.anew(all_lines, options.epochs)
            print(f"| {len(all_lines)} | | {percent([anew])} |")


if __name__ == "__main__":
    main()
