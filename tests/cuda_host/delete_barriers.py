#!/usr/bin/env python3
"""Leaves out each barrier, fence and wait for copies of cuda/, and makes each atomic operation a plain one, one at
a time, and says whether cuda_host_race_tests notices, and how in the first test that fails: by races, by wrong
values (which is all that one would see without the race checker), by a fault, or by hanging. Fails if one is not
noticed. Each runs only the tests that come by it, the shortest first. Tests of several orders of threads
run first in one order, then in all.

usage: tests/cuda_host/delete_barriers.py [PROGRAM, default that of build/release] [--jobs N] [--only TEXT]
"""

import argparse
import collections
import concurrent.futures
import pathlib
import re
import resource
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACES = re.compile(r"\b(__sync(warp|threads)|__threadfence|__pipeline_wait_prior|atomic[A-Z]\w*)\(")


def places():
    """Places that may be left out, as FILE:LINE."""
    for path in sorted(ROOT.glob("cuda/*/*.cu*")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if PLACES.search(line.split("//")[0]):
                yield f"{path.relative_to(ROOT)}:{number}"


def tests_by_place(program):
    """[(milliseconds, test)] of each place that a test comes by, the shortest test first."""
    one_order = "--gtest_filter=-*/1:*/2:*/3:*/4"
    ran = subprocess.run(
        [program, "--gtest_brief=1", one_order, "--list-places"], capture_output=True, text=True, check=False
    )
    if ran.returncode != 0:
        sys.exit(f"delete_barriers: tests fail as it is:\n{ran.stdout}{ran.stderr}")
    tests = collections.defaultdict(list)
    for line in ran.stdout.splitlines():
        if line.startswith("places: "):
            _, test, milliseconds, *reached = line.split()
            for place in reached:
                tests[place].append((int(milliseconds), test))
    return {place: sorted(of_place) for place, of_place in tests.items()}


def failure(program, place, test, milliseconds):
    """How the test fails without what is at the place, as words; none if it passes."""
    seconds = 5 + milliseconds // 100  # Ten times as long as it takes.
    ran = subprocess.run(
        [program, "--gtest_brief=1", "--gtest_fail_fast", f"--gtest_filter={test}", "--leave-out", place],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)),
    )
    if ran.returncode == 0:
        return []
    if ran.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return ["hangs"]
    failures = re.split(r"^(?=\S+: Failure$)", ran.stdout, flags=re.M)[1:]
    races = sum("(addr2line -e PROGRAM)" in one for one in failures)
    how = ["races"] if races else []
    if len(failures) > races:
        how.append("values")
    # Either the program's end, or an exception: the executor's for kernels that break rules.
    if ran.returncode != 1 or not how:
        how.append("fault")
    return how


def notices(program, place, tests):
    """How the first test that fails does, and how many have been run."""
    orders = [(10 * milliseconds, test[:-1] + "*") for milliseconds, test in tests if test.endswith("/0")]
    for count, (milliseconds, test) in enumerate(tests + orders, 1):
        if how := failure(program, place, test, milliseconds):
            return how, f"{test}, {count} of {len(tests)}"
    return [], f"by {len(tests)} tests"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "program", nargs="?", default=str(ROOT / "build/release/tests/cuda_host/cuda_host_race_tests")
    )
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="places whose FILE:LINE has this text")
    options = parser.parse_args()
    tests = tests_by_place(options.program)
    chosen = [place for place in places() if options.only in place]
    totals = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(lambda place: notices(options.program, place, tests.get(place, [])), chosen)
        for place, (how, where) in zip(chosen, results):
            print(f"{place}  {', '.join(how) or 'NOT NOTICED'} ({where})", flush=True)
            totals.update(how or ["not noticed"])
    print(f"{len(chosen)} left out: " + ", ".join(f"{n} {how}" for how, n in totals.items()))
    return 1 if totals["not noticed"] or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
