"""Files that appear whole or not at all."""

import os
import secrets
from pathlib import Path


def replace_file(path: Path, text: str) -> None:
    """Writes `text` in the place of what is there. Raises OSError, and leaves that as it is then."""
    partial = path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(4)}.partial")
    try:
        with partial.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
