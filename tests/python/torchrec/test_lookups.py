"""Lookups drawn from the statistics of tables."""

import pytest
import torch

import neuroshard as ns
from neuroshard._core import table_access
from neuroshard.lookups import TableAccess, draw_lookups

BATCH = 65536


def drawn(table: ns.Table, bags: int, seed: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    return draw_lookups(TableAccess(table.rows, *table_access(table, BATCH)), bags, torch.Generator().manual_seed(seed))


def histogram(rows: torch.Tensor) -> list[float]:
    """Shares of the distinct rows that are touched 1, 2, 3-4, ... times."""
    _, touches = torch.unique(rows, return_counts=True)
    bins = torch.ceil(torch.log2(touches.double())).long().clamp(max=16)
    return [float(count) / len(touches) for count in torch.bincount(bins, minlength=17)]


def test_lookups_have_the_statistics_of_the_table() -> None:
    for exponent in (0.0, 0.8, 1.1):
        table = ns.Table(rows=20_000, dim=16, pooling_factor=1.5, zipf_exponent=exponent)
        rows, lengths = drawn(table, BATCH)
        assert len(rows) == 98_304 == int(lengths.sum()) and lengths.shape == (BATCH,)
        assert int(rows.min()) >= 0 and int(rows.max()) < 20_000
        assert histogram(rows) == pytest.approx(table.access_histogram, abs=0.015)


def test_rows_that_are_touched_lie_scattered() -> None:
    rows, _ = drawn(ns.Table(rows=1_000_000, dim=4, pooling_factor=1.0), BATCH)
    touched = torch.unique(rows).double()
    assert abs(float(touched.mean()) - 500_000) < 10_000 and float(touched.diff().max()) < 1000


def test_each_feature_has_a_bag_of_each_sample() -> None:
    table = ns.Table(rows=1000, dim=4, pooling_factor=6.0, features=3, pooling="mean")
    rows, lengths = drawn(table, 3 * BATCH)
    assert len(rows) == 6 * BATCH
    for of_feature in lengths.reshape(3, BATCH).sum(1):
        assert 1.9 * BATCH < int(of_feature) < 2.1 * BATCH


def test_the_seed_decides_what_is_drawn() -> None:
    table = ns.Table(rows=1000, dim=4, pooling_factor=2.0)
    first, same, other = (drawn(table, BATCH, seed)[0] for seed in (1, 1, 2))
    assert torch.equal(first, same) and not torch.equal(first, other)


def test_a_table_that_is_never_looked_up_has_empty_bags() -> None:
    rows, lengths = drawn(ns.Table(rows=1000, dim=4, pooling_factor=0.0), BATCH)
    assert len(rows) == 0 and int(lengths.sum()) == 0 and lengths.shape == (BATCH,)


def test_tasks_say_what_batch_they_are_of() -> None:
    tables = [ns.Table(rows=1000, dim=4, pooling_factor=2.0)]
    assert ns.Task(tables, 2, ns.bytes_from_gib(1)).batch_size == 65536
    assert ns.Task(tables, 2, ns.bytes_from_gib(1), batch_size=2048).batch_size == 2048
