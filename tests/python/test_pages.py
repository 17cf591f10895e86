"""What pages show of Python runs: blocks up to the first that needs PyTorch, and whole pages that are run in order."""

from pathlib import Path

import pytest
from pages import Block, Page, pages, parse, program, run

TEXT = """# A page

<!-- run in order -->
<!-- run first: python
a = 1
-->

```python
assert a == 1
```

```sh
true
```

```
shown
```

<!-- not run: needs a GPU -->
```python
import cupy
```

```python
# plan.py
import torch
```
"""


def test_blocks_are_found() -> None:
    page = parse("page.md", TEXT)
    assert page.blocks == [
        Block(5, "python", "a = 1\n\n"),
        Block(9, "python", "assert a == 1\n"),
        Block(13, "sh", "true\n"),
        Block(26, "python", "# plan.py\nimport torch\n"),
    ]
    assert page.in_order and page.needs_torchrec and page.without_torchrec == page.blocks[:3]
    assert page.blocks[3].file == "plan.py" and page.blocks[0].file is None
    others = parse("page.md", TEXT.replace("<!-- run in order -->\n", ""))
    assert [block.language for block in others.blocks] == ["python"] * 3


def test_blocks_are_one_session_and_errors_name_the_line(tmp_path: Path) -> None:
    page = parse("page.md", TEXT)
    run(page, page.without_torchrec, tmp_path)
    wrong = parse("page.md", TEXT.replace("a == 1", "a == 2"))
    (tmp_path / "wrong").mkdir()
    with pytest.raises(AssertionError, match='"page.md", line 9'):
        run(wrong, wrong.without_torchrec, tmp_path / "wrong")
    wrong = parse("page.md", TEXT.replace("true", "false | cat"))
    (tmp_path / "command").mkdir()
    with pytest.raises(AssertionError, match="page.md:13"):
        run(wrong, wrong.without_torchrec, tmp_path / "command")


@pytest.mark.parametrize("page", [page for page in pages() if page.without_torchrec], ids=lambda page: page.name)
def test_pages_run(page: Page, tmp_path: Path) -> None:
    if page.in_order and program() is None:
        pytest.skip("the program is not built")
    run(page, page.without_torchrec, tmp_path)


def test_all_pages_are_looked_at() -> None:
    assert len(pages()) >= 5
