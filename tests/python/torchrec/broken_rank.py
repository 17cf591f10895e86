"""A rank of `neuroshard.measure`; rank 1 hangs, or fails, in the lookups of its third iteration. `broken_rank.py HOW
ARGUMENT...`, by torchrun; HOW is "sleep", "stop" or "fail"."""

import os
import signal
import sys
import time

from neuroshard.measure.__main__ import main
from neuroshard.measure.iteration import ShardedTables

how = sys.argv.pop(1)
look_up = ShardedTables.look_up
calls = 0


def hang(self: ShardedTables) -> None:
    global calls
    calls += 1
    # The first is before the iterations.
    if os.environ["RANK"] == "1" and calls == 4:
        if how == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        if how == "fail":
            raise RuntimeError("no such row")
        time.sleep(1000)
    look_up(self)


ShardedTables.look_up = hang  # type: ignore[method-assign]
sys.exit(main())
