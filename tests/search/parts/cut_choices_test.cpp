#include "search/parts/cut_choices.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/parts/planned_cuts.h"
#include "search/random_layouts.h"

namespace neuroshard {
namespace {

using testing::cpu_backend_of;
using testing::planner_of;
using testing::random_task_of_all_kinds;
using testing::repetitions;

using IsBest = std::function<bool(std::size_t)>;  // Of which trial.

/// All of them, if those are the best ones so far of which that is said.
std::vector<CutChoice> choices_of(const Task& task, const PlanResult& planned,
                                  const IsBest& is_best) {
  const CpuBackend backend = cpu_backend_of(builtin_weights());
  const std::vector<std::uint32_t> required;
  const StopCondition never;
  CutChoices choices(backend, task, required, never);
  CutChoice best;
  std::vector<CutChoice> all;
  while (const auto choice = choices.next(best, &planned)) {
    if (is_best(all.size())) {
      best = *choice;
      choices.last_is_best();
    }
    all.push_back(*choice);
  }
  return all;
}

TEST(CutChoices, ChangeTheBest) {
  for (std::uint64_t seed = 0; seed < repetitions(100); ++seed) {
    const Task task = random_task_of_all_kinds(seed);
    const PlanResult planned = planner_of(Effort::kFast, Cuts::kColumns).plan(task);
    if (!planned.plan) continue;
    SCOPED_TRACE(seed);
    const std::vector<CutChoice> none =
        choices_of(task, planned, [](std::size_t) { return false; });
    for (const CutChoice& choice : none) {
      EXPECT_NE(choice, CutChoice{});
      const int changed = (choice.replicas.empty() ? 0 : 1) + (choice.row_wise.empty() ? 0 : 1) +
                          (choice.node_blocks.empty() ? 0 : 1) + (choice.parts_share > 0.0 ? 1 : 0);
      EXPECT_EQ(changed, 1);
    }
  }
}

}  // namespace
}  // namespace neuroshard
