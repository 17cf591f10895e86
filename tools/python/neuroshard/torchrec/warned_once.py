"""Warnings that a planner gives once."""

import logging
from collections.abc import Iterable


class WarnedOnce:
    """Warnings of one planner: each is logged the first time."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._given: set[str] = set()

    def warn(self, text: str) -> None:
        if text not in self._given:
            self._given.add(text)
            self._logger.warning("%s", text)

    def unused(self, settings: Iterable[str]) -> None:
        """Names settings on which neither plans nor costs depend."""
        new = [setting for setting in settings if setting not in self._given]
        self._given.update(new)
        if new:
            self._logger.warning("neuroshard does not use these settings: %s", ", ".join(new))
