"""The package is typed: what mypy sees is what there is."""

import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

import neuroshard as ns

CONFIG = Path(__file__).parents[2] / "pyproject.toml"


def test_everything_is_documented_and_exported() -> None:
    assert (files(ns) / "py.typed").is_file() and (files(ns) / "_core.pyi").is_file()
    for name in ns.__all__:
        assert getattr(ns, name).__doc__, name


@pytest.fixture(scope="module")
def mypy(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command; all runs know of each other's results."""
    cache = str(tmp_path_factory.mktemp("mypy"))
    return [sys.executable, "-m", "mypy", "--config-file", str(CONFIG), "--cache-dir", cache]


def test_package_tests_and_scripts_are_mypy_clean(mypy: list[str]) -> None:
    here = sorted(str(path) for path in Path(__file__).parent.glob("*.py"))
    tools = CONFIG.parent / "tools"
    needs_torch = "torchrec|device_times|fused_optimizers|lookups|ranks|measure|calibrate"
    for what in (["--package", "neuroshard", "--exclude", needs_torch], here, [str(tools / "kernels" / "report")],
                 [str(tools / "check_includes")]):
        checked = subprocess.run([*mypy, *what], cwd=Path(__file__).parent, capture_output=True, text=True)
        assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_wrong_call_is_found(mypy: list[str], tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import neuroshard\nneuroshard.plan(3)\nneuroshard.Table('a', 4, 1.0)\n")
    checked = subprocess.run([*mypy, str(wrong)], cwd=tmp_path, capture_output=True, text=True)
    assert "Found 2 errors" in checked.stdout, checked.stdout + checked.stderr
