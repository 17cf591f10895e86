"""Work that one rank does for all of them."""

from collections.abc import Callable
from typing import TypeVar

import torch.distributed as dist
from torchrec.distributed.collective_utils import invoke_on_rank_and_broadcast_result
from torchrec.distributed.planner.types import PlannerError, PlannerErrorType

from neuroshard.errors import Error

Made = TypeVar("Made")


def on_first_rank(group: dist.ProcessGroup | None, make: Callable[[], Made]) -> Made:
    """Returns what `make` returns on the first rank of the group, or of all ranks; if it raises, they all do."""
    group = group if group is not None else dist.GroupMember.WORLD
    if group is None:
        raise Error("planner: there is no process group; call init_process_group() first, or plan() in one process")
    own_error: list[Exception] = []

    def made_or_error() -> Made | PlannerError:
        try:
            return make()
        except Exception as error:
            own_error.append(error)
            kind = error.error_type if isinstance(error, PlannerError) else PlannerErrorType.OTHER
            return PlannerError(f"the first rank found no plan: {error}", kind)

    made: Made | PlannerError = invoke_on_rank_and_broadcast_result(group, 0, made_or_error)
    if own_error:
        raise own_error[0]
    if isinstance(made, PlannerError):
        raise made
    return made
