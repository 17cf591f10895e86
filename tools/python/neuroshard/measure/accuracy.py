"""How well predicted costs agree with measured ones."""

import statistics
from collections.abc import Sequence
from typing import NamedTuple


class Accuracy(NamedTuple):
    kendall_tau: float
    mape: float
    """Mean of |predicted - measured| / measured."""
    costs: int


def accuracy_of(costs: Sequence[tuple[float, float]]) -> Accuracy | None:
    """`costs`: measured and predicted. None of fewer than two. Kendall's tau-b: costs may be equal."""
    if len(costs) < 2:
        return None
    order, measured_apart, predicted_apart = 0, 0, 0
    for index, (measured, predicted) in enumerate(costs):
        for other_measured, other_predicted in costs[:index]:
            by_measured = (measured > other_measured) - (measured < other_measured)
            by_predicted = (predicted > other_predicted) - (predicted < other_predicted)
            order += by_measured * by_predicted
            measured_apart += abs(by_measured)
            predicted_apart += abs(by_predicted)
    apart = (measured_apart * predicted_apart) ** 0.5
    errors = [abs(predicted - measured) / measured for measured, predicted in costs]
    return Accuracy(order / apart if apart else 0.0, statistics.mean(errors), len(costs))
