"""The exception of the package."""

from typing import Literal


class Error(Exception):
    """Bad input, a file or a backend: the text says where, what and what to do, in one line."""

    kind: Literal["invalid_input", "io", "backend"]

    def __init__(self, message: str, kind: Literal["invalid_input", "io", "backend"] = "invalid_input") -> None:
        super().__init__(message)
        self.kind = kind
