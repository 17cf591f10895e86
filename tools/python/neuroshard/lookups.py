"""Lookups with a table's access histogram, made on the device that looks them up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Sequence

import torch


@dataclass(frozen=True)
class TableAccess:
    """Lookups of a batch in one table."""

    rows: int
    """Rows of the table."""
    lookups: int
    """By the whole batch."""
    rows_by_bin: Sequence[float]
    """How many distinct rows are touched 1, 2, 3-4, ..., 16385-32768, more than 32768 times."""


def touches_of_rows(access: TableAccess, generator: torch.Generator) -> torch.Tensor:
    """How often each touched row is looked up, int64[distinct rows]: the histogram's rows, their touches
    log-uniform within each bin, stretched so that they add up to the lookups."""
    device = generator.device
    parts = []
    carried = 0.5
    for bin_, count in enumerate(access.rows_by_bin):
        whole = math.floor(count + carried)
        carried += count - whole
        if whole == 0:
            continue
        first = 1 if bin_ == 0 else 2 ** (bin_ - 1) + 1
        last = 2**bin_
        if bin_ < 2:
            parts.append(torch.full((whole,), float(first), device=device))
        else:
            spread = torch.rand(whole, generator=generator, device=device) * math.log((last + 1) / first)
            parts.append(torch.floor(torch.exp(spread) * first))
    if not parts:
        parts.append(torch.ones(1, device=device))
    touches = torch.cat(parts).double()
    # Rounding the partial sums makes whole touches that add up.
    sums = torch.round(torch.cumsum(touches, 0) * (access.lookups / touches.sum())).long()
    sums[-1] = access.lookups
    return torch.diff(sums, prepend=sums.new_zeros(1))


def draw_lookups(access: TableAccess, bags: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows int64[lookups], bag by bag, and lengths int64[bags], on the generator's device. Each lookup is in a random
    bag, and the rows that are touched lie scattered over the table."""
    device = generator.device
    if access.lookups == 0:
        return (
            torch.zeros(0, dtype=torch.int64, device=device),
            torch.zeros(bags, dtype=torch.int64, device=device),
        )
    touches = touches_of_rows(access, generator)
    # A step that shares no divisor with the number of rows visits each row once.
    step = max(1, int(access.rows * 0.6180339887)) | 1
    while math.gcd(step, access.rows) != 1:
        step += 2
    ranks = torch.arange(touches.numel(), device=device) % access.rows
    rows = torch.repeat_interleave((ranks * step) % access.rows, touches)
    rows = rows[torch.randperm(rows.numel(), generator=generator, device=device)]
    if access.lookups == bags:
        return rows, torch.ones(bags, dtype=torch.int64, device=device)
    of_lookups = torch.randint(bags, (access.lookups,), generator=generator, device=device)
    return rows, torch.bincount(of_lookups, minlength=bags)
