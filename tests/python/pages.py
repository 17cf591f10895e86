"""The blocks of Markdown pages, and how they run: tests/docs/commands_test.cpp runs commands of all other pages."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parents[2]
SECONDS = 600
# page_model.py is in tests/python/torchrec.
NEEDS_TORCHREC = re.compile(r"\b(torch|torchrec|torchrun|page_model)\b")
# Folders that pages name paths in.
FOLDERS = ("bench", "cuda", "docs", "tests", "tools", "weights")


@dataclass(frozen=True)
class Block:
    line: int
    language: str
    text: str

    @property
    def file(self) -> str | None:
        """The name of a block that is a file: its first line is `# NAME.py` alone."""
        named = re.match(r"# (\w+\.py)\n", self.text)
        return named[1] if self.language == "python" and named else None


@dataclass(frozen=True)
class Page:
    name: str
    in_order: bool
    """Its commands and its Python are one session: a comment `<!-- run in order -->` says so."""
    blocks: list[Block]
    """Those of Python, and commands of a page that runs in order. Without those that say why they do not run."""

    @property
    def without_torchrec(self) -> list[Block]:
        """Its blocks up to the first one that needs PyTorch."""
        first = next((i for i, block in enumerate(self.blocks) if NEEDS_TORCHREC.search(block.text)), len(self.blocks))
        return self.blocks[:first]

    @property
    def needs_torchrec(self) -> bool:
        return len(self.without_torchrec) < len(self.blocks)


def parse(name: str, text: str) -> Page:
    in_order = "\n<!-- run in order -->\n" in text
    fence = r"(?:<!-- (?P<skipped>not run):[^\n]*-->\n)?[ ]*```(?P<shown>\w*)\n(?P<block>.*?)\n?[ ]*```"
    hidden = r"<!-- run first: (?P<hidden>\w+)\n(?P<first>.*?)-->"
    blocks = []
    for found in re.finditer(rf"^(?:{fence}|{hidden})[ ]*$", text, re.MULTILINE | re.DOTALL):
        language = found["shown"] or found["hidden"]
        if found["skipped"] or language not in (("python", "sh") if in_order else ("python",)):
            continue
        part = "block" if found["shown"] else "first"
        line = text.count("\n", 0, found.start(part)) + 1
        blocks.append(Block(line, language, found[part] + "\n"))
    return Page(name, in_order, blocks)


def pages() -> list[Page]:
    """All that have something to run here."""
    files = [SOURCE / "README.md", *sorted((SOURCE / "docs").rglob("*.md"))]
    parsed = [parse(str(file.relative_to(SOURCE)), file.read_text()) for file in files]
    return [page for page in parsed if page.blocks]


def program() -> str | None:
    """The built program, which run_tests names."""
    return os.environ.get("NEUROSHARD_PROGRAM")


def script_of(page: Page, blocks: Sequence[Block]) -> str:
    """A program that runs the blocks; an error names the page's line."""
    lines = [
        "import ast, subprocess, sys",
        "from pathlib import Path",
        "sys.path.insert(0, '')",
        "names = {'__name__': '__main__'}",
    ]
    for block in blocks:
        where = f"{page.name}:{block.line}"
        lines.append(f"print({where!r}, flush=True)")
        if block.language == "sh":
            lines.append(f"subprocess.run(['bash', '-euo', 'pipefail', '-c', {block.text!r}], check=True)")
        elif block.file is not None:
            lines.append(f"Path({block.file!r}).write_text({block.text!r})")
        else:
            lines.append(f"code = ast.increment_lineno(ast.parse({block.text!r}), {block.line - 1})")
            lines.append(f"exec(compile(code, {page.name!r}, 'exec'), names)")
    return "\n".join(lines) + "\n"


def run(page: Page, blocks: Sequence[Block], folder: Path) -> None:
    """In `folder`, where files of the repository are found, with the program and torchrun on the path."""
    scratch = folder / "scratch"
    programs = folder / "bin"
    for made in (scratch, programs):
        made.mkdir()
    for name in FOLDERS:
        (scratch / name).symlink_to(SOURCE / name)
    built = program()
    if built is not None:
        (programs / "neuroshard").symlink_to(built)
    for name, command in (("python", ""), ("torchrun", "-m torch.distributed.run")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {command} "$@"\n')
        (programs / name).chmod(0o755)
    (folder / "page.py").write_text(script_of(page, blocks))
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "HOME": str(scratch)}
    ended = subprocess.run(
        [sys.executable, str(folder / "page.py")],
        cwd=scratch,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
    )
    assert ended.returncode == 0, ended.stdout[-5000:]
