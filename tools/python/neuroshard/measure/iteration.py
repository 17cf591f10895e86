"""Training iterations of sharded tables, phase by phase."""

from collections.abc import Callable
from typing import Any, cast

import torch
import torch.distributed as dist
from torch import nn
from torch._C._distributed_c10d import GradBucket
from torch.nn.parallel import DistributedDataParallel
from torchrec.distributed.model_parallel import DistributedModelParallel
from torchrec.distributed.types import ShardedModule, ShardingPlan

from neuroshard.device_times import Stopwatch, keep_busy
from neuroshard.measure.task_model import Lookups, TaskModel
from neuroshard.ranks import Ranks

PHASES = ("ids", "gradients", "update", "all_reduce", "lookup", "outputs")
"""In the order of an iteration."""
BETWEEN = "between"
"""Waits that do not count."""
HEAD_START_MS = 10.0
"""By which hosts are ahead of their GPUs from the gradients on, as they are where a dense network runs between, so that
launches do not count."""


class ShardedTables:
    """The tables of a task, sharded by a plan over all ranks, and what they look up."""

    def __init__(
        self, model: TaskModel, sharding_plan: ShardingPlan, lookups: dict[str, Lookups], ranks: Ranks
    ) -> None:
        self.ranks = ranks
        self.watch = Stopwatch(ranks.device)
        self.sharded = DistributedModelParallel(
            model.unsharded(), device=ranks.device, plan=sharding_plan, sharders=model.sharders
        )
        modules = cast(nn.ModuleDict, self.sharded.module)
        self.modules = [cast(ShardedModule[Any, Any, Any, Any], modules[name]) for name in lookups]
        self.lookups = list(lookups.values())
        self.replicas = [[is_replicated(lookup) for lookup in module._lookups] for module in self.modules]
        wrapped = [lookup for module in self.modules for lookup in module._lookups if is_replicated(lookup)]
        for lookup in wrapped:
            lookup.register_comm_hook(None, self.reduce_gradients)
        weights = [weight for lookup in wrapped for weight in lookup.parameters()]
        self.optimizer = model.optimizer_of_replicas(weights) if weights else None
        self.updating = False
        self.contexts: list[Any] = []
        self.inputs: list[Any] = []
        self.looked_up: list[list[torch.Tensor]] = []
        self.values: list[torch.Tensor] = []

    def first(self) -> None:
        """The forward pass of an iteration, with which the next one begins."""
        self.send_ids()
        self.look_up()
        self.send_outputs()

    def iterate(self, step: Callable[[str], None], flush: Callable[[], None]) -> dict[str, float]:
        """Milliseconds of each phase. Begins with the gradients of the last one's outputs: devices wait for each other
        after the update of one iteration and the lookup of the next. `flush` comes before it."""
        flush()
        step("ids")
        self.ranks.barrier()
        self.watch.start()
        self.send_ids()
        self.watch.lap("ids")
        step("gradients")
        self.ranks.barrier()
        if self.ranks.device.type == "cuda":
            keep_busy(self.ranks.device, HEAD_START_MS)
        self.watch.lap(BETWEEN)
        gradients = self.send_gradients()
        self.watch.lap("gradients")
        step("update")
        self.update(gradients)
        step("lookup")
        self.look_up()
        self.watch.lap("lookup")
        step("outputs")
        self.send_outputs()
        self.watch.lap("outputs")
        laps = self.watch.laps_ms()
        return {phase: laps.get(phase, 0.0) for phase in PHASES}

    def send_ids(self) -> None:
        self.contexts = [module.create_context() for module in self.modules]
        sent = [
            module.input_dist(context, lookups.batch())
            for module, context, lookups in zip(self.modules, self.contexts, self.lookups)
        ]
        self.inputs = [lengths.wait().wait() for lengths in sent]

    def look_up(self) -> None:
        self.looked_up = [
            module.compute(context, ids) for module, context, ids in zip(self.modules, self.contexts, self.inputs)
        ]

    def send_outputs(self) -> None:
        sent = [
            module.output_dist(context, outputs)
            for module, context, outputs in zip(self.modules, self.contexts, self.looked_up)
        ]
        self.values = []
        for outputs in sent:
            received = outputs.wait()
            # Sequences come as a jagged tensor of each feature.
            tensors = received.values()
            self.values += [tensors] if isinstance(tensors, torch.Tensor) else [jagged.values() for jagged in tensors]

    def send_gradients(self) -> list[list[torch.Tensor | None]]:
        """Back to who has looked rows up; of each of their outputs. The loss is half the sum of squares of all values,
        whose gradients they are themselves."""
        flat = [output for outputs in self.looked_up for output in outputs]
        given = [value.detach() for value in self.values]
        received = iter(torch.autograd.grad(self.values, flat, given, allow_unused=True))
        return [[next(received) for _ in outputs] for outputs in self.looked_up]

    def update(self, gradients: list[list[torch.Tensor | None]]) -> None:
        outputs = {False: ([], []), True: ([], [])}  # type: dict[bool, tuple[list[torch.Tensor], list[torch.Tensor]]]
        for of_module in zip(self.looked_up, gradients, self.replicas):
            for output, gradient, replicated in zip(*of_module):
                if gradient is not None:
                    outputs[replicated][0].append(output)
                    outputs[replicated][1].append(gradient)
        if outputs[False][0]:
            torch.autograd.backward(*outputs[False])
        if self.optimizer is None:
            self.watch.lap("update")
            return
        self.updating = True
        torch.autograd.backward(*outputs[True])
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.watch.lap("all_reduce")

    def reduce_gradients(self, _: object, bucket: GradBucket) -> torch.futures.Future[torch.Tensor]:
        """Sums them as DistributedDataParallel does by itself; the first bucket of an iteration ends the operators."""
        if self.updating:
            self.updating = False
            self.watch.lap("update")
        summed = dist.all_reduce(bucket.buffer().div_(self.ranks.size), async_op=True)
        assert summed is not None
        return summed.get_future().then(lambda future: cast(torch.Tensor, future.value()[0]))


def is_replicated(lookup: nn.Module) -> bool:
    return isinstance(lookup, DistributedDataParallel)
