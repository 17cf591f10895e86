#include "search/default_cuts.h"

#include <utility>

#include "neuroshard/training_ranges.h"

namespace neuroshard {

Cuts default_cuts(const CostModels& models) {
  return TrainingRanges(models).known() ? Cuts::kAny : Cuts::kColumns;
}

PlannerOptions without_presets(PlannerOptions options) {
  if (options.cuts == Cuts::kTorchrec) {
    options.cuts = Cuts::kAny;
    options.equal_widths = true;
  }
  return options;
}

}  // namespace neuroshard
