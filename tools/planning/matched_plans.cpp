#include "tools/planning/matched_plans.h"

#include <CLI/CLI.hpp>
#include <map>

#include "neuroshard/error.h"

namespace neuroshard::tools {

CLI::Option* add_plan_option(CLI::App& command, std::string& file) {
  return command.add_option("--plan", file, "Plan file, as written by plan --format json or jsonl")
      ->type_name("FILE")
      ->group("Task")
      ->required();
}

std::vector<MatchedPlan> match_plans(const std::vector<PlanRecord>& records,
                                     const LoadedTasks& loaded, const std::string& file) {
  std::map<int, std::size_t> position_of;
  for (std::size_t i = 0; i < loaded.indices.size(); ++i) position_of[loaded.indices[i]] = i;
  const bool one = loaded.tasks.size() == 1;
  std::vector<MatchedPlan> matched;
  std::vector<bool> taken(loaded.tasks.size(), false);
  for (const PlanRecord& record : records) {
    std::size_t position = 0;
    if (record.task && (records.size() > 1 || !one)) {
      const auto found = position_of.find(*record.task);
      if (found == position_of.end()) {
        if (one) continue;  // --index picks one of the file's plans, too.
        throw Error(record.where + ": is for task " + std::to_string(*record.task) +
                    ", which is not among the " + std::to_string(loaded.tasks.size()) + " tasks");
      }
      position = found->second;
    } else if (records.size() > 1 || !one) {
      throw Error(record.where + ": does not say which task it is for, and there are several");
    }
    if (taken[position]) {
      throw Error(record.where + ": task " + std::to_string(loaded.indices[position]) +
                  " has a plan already; give one plan per task");
    }
    taken[position] = true;
    matched.push_back({position, &record});
  }
  if (matched.empty()) {
    throw Error(file + ": has no plan for task " + std::to_string(loaded.indices[0]));
  }
  return matched;
}

}  // namespace neuroshard::tools
