#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <utility>

#include "neuroshard/plan_file.h"
#include "neuroshard/plan_outcome.h"
#include "tools/console/console.h"

namespace neuroshard::tools {

/// Summary at the end of many tasks.
class BatchEnd {
 public:
  /// `noun`: what is planned; `place`: which one failed, for the message.
  explicit BatchEnd(std::string noun = "task") : noun_(std::move(noun)) {}

  void count(const PlanOutcome& outcome, const std::string& place = "");
  /// A line that an earlier run has written.
  void count(const PlanRecord& record);

  /// Says it, and returns the exit code.
  [[nodiscard]] int report(std::size_t tasks, Console& console) const;

 private:
  std::string noun_;
  std::size_t infeasible_ = 0;
  std::size_t failed_ = 0;
  std::string first_failure_;
  std::set<std::string> warnings_;
};

}  // namespace neuroshard::tools
