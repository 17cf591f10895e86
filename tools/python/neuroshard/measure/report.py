"""Measured beside predicted costs, as text and as a JSON document."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from neuroshard._core import PlanCost
from neuroshard.device_times import Spread
from neuroshard.errors import Error
from neuroshard.measure.accuracy import Accuracy, accuracy_of
from neuroshard.measure.iteration import PHASES
from neuroshard.measure.plan_runs import TERMS, PlanRun, Settings
from neuroshard.replace_file import replace_file

FORMAT = "neuroshard.measurement"
VERSION = 2
"""1 was that of the program's own operators."""

PHASES_OF_COMPUTE = [phase for phase in PHASES if phase in TERMS["compute_ms"]]


@dataclass(frozen=True)
class Machine:
    ranks: int
    machines: int
    device: str
    hardware: str
    threads: int
    torch: str


@dataclass(frozen=True)
class MeasuredPlan:
    name: str
    predicted: PlanCost
    run: PlanRun


class Prediction:
    """A device's cost without what is not run: base loads, and the dense part that a task's overlap states."""

    def __init__(self, cost: PlanCost, device: int) -> None:
        self.terms = {term: float(getattr(cost, term)[device]) for term in TERMS}
        self.terms["compute_ms"] -= float(cost.base_ms[device])

    def total_ms(self) -> float:
        return sum(self.terms.values())


def predicted_ms(plan: MeasuredPlan) -> float:
    return max(Prediction(plan.predicted, device).total_ms() for device in range(len(plan.run.devices)))


@dataclass(frozen=True)
class Report:
    machine: Machine
    settings: Settings
    batch: int
    weights: str
    notes: list[str]
    plans: list[MeasuredPlan]

    def accuracy(self) -> Accuracy | None:
        return accuracy_of([(plan.run.cost().median, predicted_ms(plan)) for plan in self.plans if not plan.run.error])

    def document(self) -> dict[str, Any]:
        accuracy = self.accuracy()
        return {
            "format": FORMAT,
            "version": VERSION,
            **asdict(self.machine),
            **asdict(self.settings),
            "batch": self.batch,
            "weights": self.weights,
            "notes": self.notes,
            **({"kendall_tau": accuracy.kendall_tau, "mape": accuracy.mape} if accuracy is not None else {}),
            "plans": [plan_document(plan) for plan in self.plans],
        }

    def text(self) -> str:
        lines = []
        if len(self.plans) == 1 and not self.plans[0].run.error:
            lines += [*device_lines(self.plans[0]), ""]
        lines += [*plan_lines(self.plans), ""]
        accuracy = self.accuracy()
        if accuracy is not None:
            figures = f"Kendall tau {accuracy.kendall_tau:.3f}, MAPE {100 * accuracy.mape:.1f} %"
            lines.append(f"accuracy  {figures} of {accuracy.costs} plans")
        machine, settings = self.machine, self.settings
        lines.append(
            f"measured  {counted(machine.ranks, 'rank')} of {counted(machine.threads, 'thread')} on "
            f"{counted(machine.machines, 'machine')} ({machine.hardware}), {machine.device}; batch {self.batch}; "
            f"{counted(settings.rounds, 'round')} of {counted(settings.iterations, 'iteration')} after "
            f"{settings.warm_up} to warm up; PyTorch {machine.torch}"
        )
        lines.append(f"weights   {self.weights}")
        return "\n".join(lines + [f"note      {note}" for note in self.notes]) + "\n"


def plan_document(plan: MeasuredPlan) -> dict[str, Any]:
    document: dict[str, Any] = {"plan": plan.name}
    if plan.run.error:
        return {**document, "error": plan.run.error}
    return {
        **document,
        "measured_ms": plan.run.cost()._asdict(),
        "round_ms": plan.run.round_ms,
        "predicted_ms": predicted_ms(plan),
        **({"warning": plan.predicted.warning} if plan.predicted.warning else {}),
        "devices": [device_document(plan, device) for device in range(len(plan.run.devices))],
    }


def device_document(plan: MeasuredPlan, device: int) -> dict[str, Any]:
    times = plan.run.devices[device]
    predicted = Prediction(plan.predicted, device)
    measured = {"total_ms": times.total(), **{term: times.of(phases) for term, phases in TERMS.items()}}
    parts = {f"{phase}_ms": times.phases[phase] for phase in PHASES_OF_COMPUTE}
    return {
        "device": device,
        "measured": {name: Spread.of(values)._asdict() for name, values in {**measured, **parts}.items()},
        "predicted": {"total_ms": predicted.total_ms(), **predicted.terms},
    }


def device_lines(plan: MeasuredPlan) -> list[str]:
    """Three of each device: median, quartiles, and what was predicted."""
    rows = [["device", "", "total ms", *(term.removesuffix("_ms") for term in TERMS), *PHASES_OF_COMPUTE]]
    for device, times in enumerate(plan.run.devices):
        of_terms = [times.total(), *(times.of(phases) for phases in TERMS.values())]
        spreads = [Spread.of(values) for values in [*of_terms, *(times.phases[phase] for phase in PHASES_OF_COMPUTE)]]
        predicted = Prediction(plan.predicted, device)
        rows.append([str(device), "measured", *(f"{spread.median:.3f}" for spread in spreads)])
        rows.append(["", "quartiles", *(range_text(spread) for spread in spreads)])
        figures = [predicted.total_ms(), *predicted.terms.values()]
        rows.append(["", "predicted", *(f"{figure:.3f}" for figure in figures), "", ""])
    return aligned(rows)


def plan_lines(plans: list[MeasuredPlan]) -> list[str]:
    rows = [["plan", "measured ms", "quartiles", "rounds", "predicted ms", "predicted/measured"]]
    for plan in plans:
        if plan.run.error:
            rows.append([plan.name, "-", plan.run.error, "", "", ""])
            continue
        cost, predicted = plan.run.cost(), predicted_ms(plan)
        rounds = f"{min(plan.run.round_ms):.3f}-{max(plan.run.round_ms):.3f}"
        figures = [f"{cost.median:.3f}", range_text(cost), rounds, f"{predicted:.3f}", f"{predicted / cost.median:.2f}"]
        rows.append([plan.name, *figures])
    return aligned(rows)


def write_report(path: str, text: str) -> None:
    try:
        replace_file(Path(path), text)
    except OSError as error:
        raise Error(f"{path}: cannot be written: {error}", "io") from error


def counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def range_text(spread: Spread) -> str:
    return f"{spread.low:.3f}-{spread.high:.3f}"


def aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = []
    for first, *others in rows:
        padded = [first.ljust(widths[0]), *(text.rjust(width) for text, width in zip(others, widths[1:]))]
        lines.append("  ".join(padded).rstrip())
    return lines
