"""Plans run by TorchRec over all ranks, their phases timed, beside what the cost models predict.

    torchrun --nproc-per-node 8 -m neuroshard.measure --task my_model.json --plan plan.json --weights mine.safetensors

Needs torch and torchrec, which the package does not install. docs/measuring.md says more.
"""

from neuroshard.device_times import Spread
from neuroshard.measure.accuracy import Accuracy, accuracy_of
from neuroshard.measure.plan_runs import Case, DeviceTimes, PlanRun, Settings, measure_plans

__all__ = ["Accuracy", "Case", "DeviceTimes", "PlanRun", "Settings", "Spread", "accuracy_of", "measure_plans"]
