#!/usr/bin/env python3
"""Times FBGEMM's table-batched embedding operator, as TorchRec runs it, in many cases on one device.

CASES has a case a line, as JSON: `batch`, `optimizer`, `weight_type`, `pooling`, `weighted`, and `tables`, each
[rows, dim, lookups of the batch, distinct rows by bin of the access histogram]. Each case that is done becomes a line of
OUTPUT, with what was in CASES besides the tables: forward and backward pass (with the update) in milliseconds, each the
median and the first and third quartile. With --kernels the device's kernels of one iteration are listed instead, each
with its microseconds. A run that was stopped goes on with the same command. Needs PyTorch and FBGEMM."""

import argparse
import json
import sys
import time
import types
from pathlib import Path

import torch

# The package without its compiled part, so that this runs where nothing is installed.
package = types.ModuleType("neuroshard")
package.__path__ = [str(Path(__file__).resolve().parent.parent / "tools" / "python" / "neuroshard")]
sys.modules["neuroshard"] = package

from neuroshard.calibrate.operator_times import OperatorCase, TimedOperator
from neuroshard.lookups import TableAccess


def case_of(line: dict) -> OperatorCase:
    return OperatorCase(
        batch=line["batch"],
        dims=[dim for _, dim, _, _ in line["tables"]],
        accesses=[TableAccess(rows, lookups, by_bin) for rows, _, lookups, by_bin in line["tables"]],
        optimizer=line["optimizer"],
        weight_type=line["weight_type"],
        pooling=line["pooling"],
        weighted=line["weighted"],
    )


def kernel_times(operator: TimedOperator) -> list[tuple[str, float]]:
    """Names and microseconds of what the device runs in one iteration, in order."""
    operator.time(1, 2)
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        operator.forward().backward(operator.gradients)
        torch.cuda.synchronize()
    kernels = [event for event in profile.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    kernels.sort(key=lambda event: event.time_range.start)
    return [(event.name[:160], round(event.time_range.elapsed_us(), 2)) for event in kernels]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--device", default="cuda:0" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--seconds", type=float, default=600.0, help="begin no case after this time (%(default)s)")
    parser.add_argument("--warm-up", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--every", type=int, default=1, help="take each N-th case only")
    parser.add_argument("--kernels", action="store_true")
    options = parser.parse_args()
    device = torch.device(options.device)
    torch.manual_seed(1)

    done = set()
    if options.output.exists():
        done = {json.loads(line)["id"] for line in options.output.read_text().splitlines()}
    begin = time.monotonic()
    counts = {"done": len(done), "failed": 0, "left": 0}
    with options.cases.open() as cases, options.output.open("a") as output:
        for number, text in enumerate(cases):
            line = json.loads(text)
            if line["id"] in done or number % options.every != 0:
                continue
            if time.monotonic() - begin > options.seconds:
                counts["left"] += 1
                continue
            try:
                operator = TimedOperator(case_of(line), device)
                if options.kernels:
                    times = {"kernels": kernel_times(operator)}
                else:
                    forward, backward = operator.time(options.warm_up, options.repetitions)
                    times = {
                        "forward_ms": [*forward],
                        "backward_ms": [*backward],
                    }
            except (RuntimeError, AssertionError) as error:
                # No memory, or an optimizer that the operator does not have there.
                print(f"case {line['id']}: {str(error)[:300]}", file=sys.stderr)
                counts["failed"] += 1
                continue
            del line["tables"]
            output.write(json.dumps(line | times) + "\n")
            output.flush()
            counts["done"] += 1
            del operator
    print(f"{counts}, {time.monotonic() - begin:.1f} s")


if __name__ == "__main__":
    main()
