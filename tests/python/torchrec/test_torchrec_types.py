"""The package is typed where it needs PyTorch or TorchRec, too. Untyped names of TorchRec count as Any."""

import subprocess
import sys
from pathlib import Path

CONFIG = Path(__file__).parents[3] / "pyproject.toml"


def test_whole_package_is_mypy_clean(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--config-file", str(CONFIG), "--package", "neuroshard"]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
