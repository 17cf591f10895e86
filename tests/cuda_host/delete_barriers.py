#!/usr/bin/env python3
"""Deletes each barrier, fence and wait for copies, and makes each atomic of cuda/ a plain operation, one at a time, and says
whether cuda_host_race_tests notices, and how in the first test that fails: by races, by wrong values
(which is all that one would see without the race checker), by a fault, or by hanging. Fails if one is
not noticed.

usage: tests/cuda_host/delete_barriers.py [BUILD, default build/release] [--jobs N] [--only TEXT]
Needs a build folder made by ninja; leaves sources and objects alone.
"""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = "tests/cuda_host/cuda_host_race_tests"
# What stands in the place of what is deleted. The plain addition is what atomicAdd is not.
DELETIONS = [
    (re.compile(r"__sync(warp|threads)\(\);|__threadfence\(\);"), ";"),
    (re.compile(r"__pipeline_wait_prior\(\d\);"), ";"),
    (re.compile(r"atomicAdd\((&?[\w\[\]]+), (\w+)\)"), r"std::exchange(*(\1), *(\1) + \2)"),
]
CPU_SECONDS = 200


def sites():
    """(file, line number, file's text without it) of everything that is deleted."""
    for path in sorted(ROOT.glob("cuda/*.cu*")):
        lines = path.read_text().splitlines(keepends=True)
        for number, line in enumerate(lines):
            for pattern, replacement in DELETIONS:
                changed = pattern.sub(replacement, line)
                if changed != line:
                    yield path, number + 1, "".join(lines[:number] + [changed] + lines[number + 1:])


class Build:
    def __init__(self, folder):
        self.folder = folder.resolve()
        subprocess.run(["cmake", "--build", str(folder), "--target", TARGET], check=True,
                       stdout=subprocess.DEVNULL)
        compilations = json.loads((self.folder / "compile_commands.json").read_text())
        self.commands = {}
        for entry in compilations:
            words = shlex.split(entry["command"])
            output = words[words.index("-o") + 1]
            if "cuda_host_race_kernels.dir" in output:
                self.commands[output] = (words, pathlib.Path(entry["file"]).resolve())
        self.link = self.ninja("commands", "-s", TARGET).strip()
        depends = self.ninja("deps")
        self.users = {}
        for block in depends.split("\n\n"):
            head, *files = block.splitlines() or [""]
            output = head.split(":")[0]
            if output in self.commands:
                for file in files:
                    path = (self.folder / file.strip()).resolve()
                    self.users.setdefault(path, []).append(output)

    def ninja(self, tool, *arguments):
        return subprocess.run(["ninja", "-C", str(self.folder), "-t", tool, *arguments],
                              check=True, capture_output=True, text=True).stdout

    def program_with(self, path, text, folder):
        """The tests, with `text` in the place of a file."""
        copy = folder / path.relative_to(ROOT)
        copy.parent.mkdir()
        copy.write_text(text)
        link = self.link
        if not self.users.get(path):
            sys.exit(f"no object of {TARGET} is made of {path}")
        for count, output in enumerate(self.users[path]):
            words, source = self.commands[output]
            changed = list(words)
            changed[changed.index("-o") + 1] = str(folder / f"{count}.o")
            # Includes are found there first.
            first = next(i for i, word in enumerate(changed) if word.startswith("-I"))
            changed[first:first] = [f"-I{folder}", "-w"]
            changed = [str(copy) if source == path and word == changed[-1] else word
                       for word in changed]
            subprocess.run(changed, cwd=self.folder, check=True)
            link = link.replace(output, str(folder / f"{count}.o"))
        program = folder / "tests"
        # Only the linker: what follows it discovers tests.
        link = link[:link.rindex(" && cd ")] if " && cd " in link else link
        link = re.sub(rf"-o {TARGET}", f"-o {program}", link)
        subprocess.run(link, shell=True, cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        return program


def notices(build, path, text):
    """How, as words."""
    with tempfile.TemporaryDirectory() as name:
        program = build.program_with(path, text, pathlib.Path(name))
        limit = (CPU_SECONDS, CPU_SECONDS)
        ran = subprocess.run([str(program), "--gtest_brief=1", "--gtest_fail_fast"],
                             capture_output=True, text=True, errors="replace",
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, limit))
    if ran.returncode == 0:
        return []
    if ran.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return ["hangs"]
    failures = re.split(r"^(?=\S+: Failure$)", ran.stdout, flags=re.M)[1:]
    races = sum("(addr2line -e PROGRAM)" in failure for failure in failures)
    how = ["races"] if races else []
    if len(failures) > races:
        how.append("values")
    # Either the program's end, or an exception: the executor's for kernels that break rules.
    if ran.returncode != 1 or not how:
        how.append("fault")
    return how


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", nargs="?", default=str(ROOT / "build/release"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    build = Build(pathlib.Path(options.build))
    deleted = [s for s in sites() if options.only in f"{s[0].name}:{s[1]}"]
    totals = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(lambda s: notices(build, s[0], s[2]), deleted)
        for (path, line, _), how in zip(deleted, results):
            print(f"{path.relative_to(ROOT)}:{line}  {', '.join(how) or 'NOT NOTICED'}", flush=True)
            totals.update(how or ["not noticed"])
    print(f"{len(deleted)} deleted: " + ", ".join(f"{n} {how}" for how, n in totals.items()))
    return 1 if totals["not noticed"] or not deleted else 0


if __name__ == "__main__":
    sys.exit(main())
