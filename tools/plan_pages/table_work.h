#pragma once

#include <string>
#include <vector>

#include "neuroshard/plan.h"
#include "neuroshard/task.h"

namespace neuroshard::tools {

/// [tables]: what each table takes of the work of all devices together, in ms. Models price a
/// device's tables as one, so its work is shared out: the operator by analytic prices of each slice
/// alone, all-to-alls by columns and ids, the all-reduce by memory. Base loads and dense parts
/// belong to no table, so that the sum may be less than that of work_ms().
[[nodiscard]] std::vector<double> table_work_ms(const Task& task, const Plan& plan,
                                                const PlanCost& cost);

/// How the tables of a plan are sharded, in words.
class ShardingWords {
 public:
  /// `plan` is valid for `task`.
  ShardingWords(const Task& task, const Plan& plan);

  /// "whole on device 3", "row: 8 blocks on 0 to 7", "replicated on all"; and
  /// "hot rows on all" and "rows on each node" with those.
  [[nodiscard]] std::string of(int table) const;

 private:
  struct Pieces {
    int slices = 0;
    std::vector<int> devices;  ///< Ascending, each once.
    std::string kind;          ///< Empty: none that has a name.
    std::string hot_rows;      ///< Where they are.
  };
  std::vector<Pieces> tables_;
};

}  // namespace neuroshard::tools
