#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/plan_result.h"
#include "neuroshard/stop_condition.h"
#include "neuroshard/task.h"
#include "search/parts/count_trials.h"
#include "search/parts/cut_choice.h"

namespace neuroshard {

/// Which choices are worth a trial, one after another, each the best one so far with something
/// changed: how its tables are cut into parts of columns, which ones are replicated, which ones are
/// row-wise, which ones are in row blocks on nodes. Few are tried: they are starts, which a
/// Portfolio improves.
class CutChoices {
 public:
  /// Borrows all. `required`: tables that must be replicated, ascending. Once `stop` is reached, no
  /// more kinds are looked at.
  CutChoices(const Backend& backend, const Task& task, const std::vector<std::uint32_t>& required,
             const StopCondition& stop)
      : backend_(backend), task_(task), required_(required), stop_(stop) {}

  /// The next one, if `best` led to the best plan so far, `planned` (null: none did). Nothing: they
  /// are at an end.
  [[nodiscard]] std::optional<CutChoice> next(const CutChoice& best, const PlanResult* planned);
  /// The last one led to the best plan so far.
  void last_is_best();
  /// To be tried at last: other choices that began with it would be near to it.
  void try_known(CutChoice choice) { known_ = std::move(choice); }
  /// All kinds once more, after they came to an end without a plan, and there is one now.
  void begin_again();
  [[nodiscard]] bool started() const { return shares_tried_ > 0; }

 private:
  enum class Kind { kColumnParts, kReplicas, kRowWise, kNodeBlocks, kKnown };

  /// The next one but for the known one.
  [[nodiscard]] std::optional<CutChoice> next_of_kinds(const CutChoice& best,
                                                       const PlanResult* planned);
  [[nodiscard]] std::optional<CutChoice> next_parts(const CutChoice& best, bool planned);
  [[nodiscard]] std::optional<CutChoice> next_replicas(const CutChoice& best);
  [[nodiscard]] std::optional<CutChoice> next_row_wise(const CutChoice& best);
  [[nodiscard]] std::optional<CutChoice> next_node_blocks(const CutChoice& best);
  /// Tables that may be replicated, or in row blocks, by what `planned` costs.
  void list_candidates(const PlanResult& planned);
  /// What is left of the devices for candidates beside `replicas` and all other tables.
  [[nodiscard]] CutRoom room_beside(const std::vector<std::uint32_t>& replicas) const;
  /// The first `count` candidates that have room beside no other cuts, ascending.
  [[nodiscard]] std::vector<std::uint32_t> replicas_of(std::size_t count) const;

  const Backend& backend_;
  const Task& task_;
  const std::vector<std::uint32_t>& required_;
  const StopCondition& stop_;
  Kind kind_ = Kind::kColumnParts;
  std::size_t shares_tried_ = 0;
  CountTrials replicas_;
  CountTrials row_wise_;
  CountTrials node_blocks_;
  std::size_t row_wise_count_ = 0;  ///< Of the last trial of such.
  bool listed_ = false;
  bool all_replicas_tried_ = false;
  bool all_node_blocks_tried_ = false;
  bool replicas_limited_ = false;  ///< By memory.
  bool row_wise_alone_ = false;    ///< The last trial's are to be tried without replicas.
  std::optional<CutChoice> known_;
  CutChoice last_;
};

}  // namespace neuroshard
