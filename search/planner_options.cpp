#include "search/planner_options.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>
#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/cuda_backend.h"
#include "neuroshard/error.h"
#include "neuroshard/training_ranges.h"
#include "search/learned_placement.h"

namespace neuroshard {
namespace {

void require_known(const std::string& name, const std::string& where) {
  const std::vector<std::string> known = backends();
  if (name == "auto" || std::ranges::find(known, name) != known.end()) return;
  std::string names = "auto";
  for (const std::string& one : known) names += (one == known.back() ? " or " : ", ") + one;
  throw Error(where + "there is no backend '" + name + "'; use " + names);
}

void require_policy(const PlannerOptions& options) {
  const std::string name(name_of(options.algorithm));
  const bool given = options.policy != nullptr;
  if (is_learned(options.algorithm) && !given) {
    throw Error("algorithm " + name +
                " needs a policy; give its file (--policy), which 'neuroshard " +
                "train policy --algorithm " + name + "' makes");
  }
  if (given && algorithm_of(*options.policy) != name) {
    throw Error("the policy is of algorithm " + std::string(algorithm_of(*options.policy)) +
                ", and the plan is asked of " + name + "; give both of one kind");
  }
  if (given) validate(*options.policy, "policy");
}

}  // namespace

std::vector<std::string> backends() {
  std::vector<std::string> names{std::string(kCudaBackend)};
  std::ranges::move(cpu_backends(), std::back_inserter(names));
  return names;
}

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

std::string chosen_backend(const std::string& option) {
  require_known(option, "");
  const char* environment = std::getenv("NEUROSHARD_BACKEND");
  if (option != "auto" || environment == nullptr || *environment == '\0') return option;
  require_known(environment, "NEUROSHARD_BACKEND: ");
  return environment;
}

void require_between(int value, int low, int high, const char* option) {
  if (value < low || value > high) {
    throw Error(std::string(option) + " is " + std::to_string(value) + "; give a number between " +
                std::to_string(low) + " and " + std::to_string(high));
  }
}

PlannerOptions checked_options(PlannerOptions options) {
  require_between(options.search.beam_width, 1, 1000, "beam width");
  require_between(options.search.candidates, 1, 100000, "candidates");
  require_between(options.search.max_splits, 0, 10000, "max splits");
  require_between(options.search.grid_steps, 1, 1000, "grid steps");
  require_between(options.threads, 0, 1024, "threads");
  require_policy(options);
  options = without_presets(std::move(options));
  if (options.equal_widths && options.algorithm == Algorithm::kPublished) {
    throw Error(
        "the published search cuts slices of a table to widths of their own; ask for equal "
        "widths with algorithm 'neuroshard'");
  }
  options.backend = chosen_backend(options.backend);
  return options;
}

}  // namespace neuroshard
