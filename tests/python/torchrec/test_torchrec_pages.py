"""Pages that show what needs PyTorch or TorchRec run from their first block to their last."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from pages import Page, pages, program, run


@pytest.mark.parametrize("page", [page for page in pages() if page.needs_torchrec], ids=lambda page: page.name)
def test_pages_run(page: Page, tmp_path: Path) -> None:
    if page.in_order and program() is None:
        pytest.skip("the program is not built")
    run(page, page.blocks, tmp_path)
