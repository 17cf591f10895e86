#!/usr/bin/env python3
"""Shows how good weights calibrated with few samples are: MAPE over the number of samples.

Samples of a folder (neuroshard collect) are shuffled; the last ones test, the first ones of the others
calibrate, and for comparison models are trained anew on the same few and on all others.

Measured costs differ from one measurement to the next, and no model predicts that: --again takes a folder
of the same samples measured once more (the same command, another --output; fewer --samples will do), and
says how far they are apart. If both are off by independent errors that are normally distributed, a model
that knows the true costs is off by 1/sqrt(2) of the mean difference.

  bench/calibration_curve.py data/compute_h100 --from a100
  bench/calibration_curve.py data/comm_8 --kind comm --from a100 --sizes 50,100,200
  bench/calibration_curve.py data/cpu --again data/cpu_again --report bench/results/MACHINE/calibration_cpu.md
"""
import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# So many are trained on anew in small batches and 300 epochs; more of them would take long.
FEW = 2000


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
    parser.add_argument("--epochs", type=int, default=60, help="epochs of training anew on more than 2,000 samples")
    parser.add_argument("--again", type=Path, help="folder of the same samples, measured once more")
    parser.add_argument("--report", type=Path, help="Markdown file to add to, besides the page")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--neuroshard", default="build/release/tools/neuroshard")
    parser.add_argument("--no-scratch", action="store_true", help="train nothing anew")
    return parser.parse_args()


class Curve:
    def __init__(self, options, scratch):
        self.options = options
        self.scratch = scratch
        self.in_order = (options.data / "data.txt").read_text().splitlines()
        self.lines = self.in_order.copy()
        random.Random(0).shuffle(self.lines)
        self.tested = options.test or len(self.lines) // 5
        self.test = self.folder("test", self.lines[-self.tested :])
        self.lines = self.lines[: -self.tested]

    @property
    def about(self):
        """Tells by its collection.json where the samples come from."""
        file = self.options.data / "collection.json"
        if not file.exists():
            return "of unknown origin"
        said = json.loads(file.read_text())["description"]
        return f"{said.get('source')} costs of {said.get('hardware')}"

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
        """Error of the compute model, or of both communication networks together."""
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

    def anew(self, lines, epochs, seed=0):
        base = self.scratch / "base.safetensors"
        if self.options.kind == "comm":
            self.run("train", "comm", "--from", "built-in", "--data", self.folder("b", lines[:20]),
                     "--epochs", 1, "--output", base)
            own = ("--base", base, "--batch", 32)
        else:
            own = ("--features", "operator", "--batch", 128)
        own = own if len(lines) > FEW else own[:-1] + (16,)
        return self.trained(lines, "--loss", "relative", "--epochs", epochs, "--seed", seed, *own)

    def draw(self, size, number):
        return random.Random(number).sample(self.lines, size)

    def noise(self, again):
        """Noise of the samples that were measured twice: how far costs are apart, and by what factor all are."""
        ratios = []
        for i, (first, second) in enumerate(zip(self.in_order, again.read_text().splitlines(), strict=False)):
            (sample, costs), (same, costs_again) = (self.parts(line) for line in (first, second))
            if sample != same:
                raise SystemExit(f"{again}:{i + 1}: is another sample than that of {self.options.data}")
            ratios += [there / here for here, there in zip(costs, costs_again, strict=True)]
        middle = statistics.median(ratios)
        apart = statistics.mean(abs(ratio - 1) for ratio in ratios)
        apart_else = statistics.mean(abs(ratio / middle - 1) for ratio in ratios)
        return (
            f"{len(ratios)} costs measured again: {100 * apart:.2f} % from the first on the average "
            f"(median {100 * statistics.median(abs(ratio - 1) for ratio in ratios):.2f} %). The median of their "
            f"ratios is {middle:.3f}; without it {100 * apart_else:.2f} %, so that a model that knows the true "
            f"costs would have a MAPE of about {100 * apart_else / 2**0.5:.2f} %."
        )

    def parts(self, line):
        """Splits a line into what was measured, and its costs."""
        words = line.split()
        if self.options.kind == "compute":
            return [words[0], *words[2:]], [float(words[1])]
        return words[:2], [float(cost) for word in words[2:] for cost in word.split(",")]


def percent(values):
    text = f"{100 * statistics.mean(values):.2f} %"
    if len(values) > 1:
        text += f" ({100 * min(values):.2f} to {100 * max(values):.2f})"
    return text


def start_weights(start):
    if start == "built-in":
        return ()
    return ("--weights", start) if Path(start).exists() else ("--hardware", start)


class Page:
    """Text that is printed, and added to a report if there is one."""

    def __init__(self, report):
        self.report = report

    def write(self, line):
        print(line, flush=True)
        if self.report:
            with self.report.open("a") as file:
                file.write(line + "\n")


def main():
    options = arguments()
    page = Page(options.report)
    with tempfile.TemporaryDirectory() as scratch:
        curve = Curve(options, Path(scratch))
        all_lines = curve.lines[: options.most]
        page.write(f"`bench/calibration_curve.py {' '.join(sys.argv[1:])}`, {time.strftime('%Y-%m-%d')}\n")
        page.write(f"{options.data}, {curve.about}: {len(curve.lines)} samples to train on, {curve.tested} tested; "
                   f"from {options.start}\n")
        page.write("| samples | calibrated: MAPE | trained anew |\n|---:|---:|---:|")
        page.write(f"| 0 | {percent([curve.mape(start_weights(options.start))])} | |")
        for size in map(int, options.sizes.split(",")):
            if size > len(curve.lines):
                continue
            draws = [curve.draw(size, number) for number in range(options.draws)]
            calibrated = [curve.trained(lines, "--from", options.start) for lines in draws]
            anew = ""
            if not options.no_scratch:
                anew = percent([curve.anew(lines, 300) for lines in draws[:2]])
            page.write(f"| {size} | {percent(calibrated)} | {anew} |")
        if not options.no_scratch:
            epochs = options.epochs if len(all_lines) > FEW else 300
            anew = [curve.anew(all_lines, epochs, seed) for seed in range(1 if len(all_lines) > FEW else 3)]
            page.write(f"| {len(all_lines)} | | {percent(anew)} |")
        if options.again:
            page.write("\n" + curve.noise(options.again / "data.txt"))
        page.write("")


if __name__ == "__main__":
    main()
