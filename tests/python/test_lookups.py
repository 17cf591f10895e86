"""Lookups drawn from the statistics of tables."""

import numpy as np
import pytest

import neuroshard as ns


def histogram(ids: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> list[float]:
    """Shares of the distinct rows that are touched 1, 2, 3-4, ... times."""
    _, touches = np.unique(ids, return_counts=True)
    bins = np.minimum(np.ceil(np.log2(touches)).astype(int), 16)
    return [float(share) for share in np.bincount(bins, minlength=17) / len(touches)]


def test_lookups_have_the_statistics_of_the_table() -> None:
    table = ns.Table(rows=20_000, dim=16, pooling_factor=1.5)
    ids, offsets = ns.draw_lookups(table, 65536)
    assert len(ids) == 98_304 and offsets.shape == (65537,)
    assert offsets[0] == 0 and offsets[-1] == len(ids) and (np.diff(offsets) >= 0).all()
    assert ids.min() >= 0 and ids.max() < 20_000
    assert histogram(ids) == pytest.approx(table.access_histogram, abs=1e-3)


def test_each_feature_has_a_bag_of_each_sample() -> None:
    table = ns.Table(rows=1000, dim=4, pooling_factor=6.0, features=3, pooling="mean")
    ids, offsets = ns.draw_lookups(table, 2048, bags=3)
    assert len(ids) == 6 * 2048 and len(offsets) == 3 * 2048 + 1
    for feature in range(3):
        first, last = offsets[feature * 2048], offsets[(feature + 1) * 2048]
        assert 1.8 * 2048 < last - first < 2.2 * 2048


def test_seed_and_stream_decide_what_is_drawn() -> None:
    table = ns.Table(rows=1000, dim=4, pooling_factor=2.0)
    first, same, other_seed, other_stream = (
        ns.draw_lookups(table, 1024, seed=seed, stream=stream)[0] for seed, stream in ((1, 2), (1, 2), (2, 2), (1, 3))
    )
    assert (first == same).all()
    assert not (first == other_seed).all() and not (first == other_stream).all()


def test_a_table_that_is_never_looked_up_has_empty_bags() -> None:
    ids, offsets = ns.draw_lookups(ns.Table(rows=1000, dim=4, pooling_factor=0.0), 1024)
    assert len(ids) == 0 and (offsets == 0).all()


def test_tasks_say_what_batch_they_are_of() -> None:
    tables = [ns.Table(rows=1000, dim=4, pooling_factor=2.0)]
    assert ns.Task(tables, 2, ns.bytes_from_gib(1)).batch_size == 65536
    assert ns.Task(tables, 2, ns.bytes_from_gib(1), batch_size=2048).batch_size == 2048
