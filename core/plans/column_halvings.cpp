#include "neuroshard/column_halvings.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <string>
#include <utility>

#include "core/plans/column_split.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

/// A node of a table's tree of halvings that is no slice itself.
struct HalvedNode {
  int second_half = 0;  ///< The slice that has the first columns of its second half.
  int table = 0;
  int first_column = 0;
  int dim = 0;

  // clang-tidy takes the 0 that a comparison is compared with for a pointer.
  // NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const HalvedNode&, const HalvedNode&) = default;
};

/// Finds the splits by which `slices` come about.
class Halver {
 public:
  explicit Halver(const std::vector<TableSlice>& slices)
      : slices_(slices), by_place_(slices.size()) {
    for (std::size_t i = 0; i < slices.size(); ++i) by_place_[i] = static_cast<int>(i);
    std::sort(by_place_.begin(), by_place_.end(),
              [&](int a, int b) { return place(a) < place(b); });
  }

  /// Nothing if they do not.
  std::optional<std::vector<int>> splits() {
    if (!start_from_tables()) return std::nullopt;
    std::vector<int> column_splits;
    // The slice that a second half ends as was appended when the node was halved, so the lowest
    // index was halved first.
    while (!open_.empty()) {
      const HalvedNode node = open_.top();
      open_.pop();
      const int first = slice_at(node.table, node.first_column);
      column_splits.push_back(index_of_[static_cast<std::size_t>(first)]);
      index_of_[static_cast<std::size_t>(node.second_half)] = next_index_++;
      if (!open(node.table, node.first_column, node.dim / 2) ||
          !open(node.table, node.first_column + node.dim / 2, node.dim / 2)) {
        return std::nullopt;
      }
    }
    return column_splits;
  }

  /// Index of each slice after the splits.
  [[nodiscard]] const std::vector<int>& indices() const { return index_of_; }

 private:
  [[nodiscard]] std::pair<int, int> place(int slice) const {
    const TableSlice& at = slices_[static_cast<std::size_t>(slice)];
    return {at.table, at.first_column};
  }

  /// The one that begins there; -1 if there is none.
  [[nodiscard]] int slice_at(int table, int first_column) const {
    const std::pair wanted(table, first_column);
    const auto found = std::lower_bound(by_place_.begin(), by_place_.end(), wanted,
                                        [&](int a, const auto& b) { return place(a) < b; });
    return found != by_place_.end() && place(*found) == wanted ? *found : -1;
  }

  /// False if the tables do not have their columns, each with all rows, side by side.
  bool start_from_tables() {
    index_of_.resize(slices_.size());
    for (std::size_t begin = 0; begin < by_place_.size();) {
      const TableSlice& leftmost = slices_[static_cast<std::size_t>(by_place_[begin])];
      int dim = 0;
      std::size_t end = begin;
      for (; end < by_place_.size(); ++end) {
        const TableSlice& slice = slices_[static_cast<std::size_t>(by_place_[end])];
        if (slice.table != leftmost.table) break;
        if (slice.first_column != dim || slice.rows != leftmost.rows) return false;
        dim += slice.dim;
      }
      index_of_[static_cast<std::size_t>(by_place_[begin])] = next_index_++;
      if (!open(leftmost.table, 0, dim)) return false;
      begin = end;
    }
    return true;
  }

  /// Notes a node that is to be halved, if it is no slice. False if it cannot be.
  bool open(int table, int first_column, int dim) {
    const int first = slice_at(table, first_column);
    if (first < 0) return false;
    if (slices_[static_cast<std::size_t>(first)].dim == dim) return true;
    const int second = slice_at(table, first_column + dim / 2);
    if (!can_split_columns(dim) || second < 0) return false;
    open_.push({second, table, first_column, dim});
    return true;
  }

  const std::vector<TableSlice>& slices_;
  std::vector<int> by_place_;
  std::vector<int> index_of_;
  int next_index_ = 0;
  std::priority_queue<HalvedNode, std::vector<HalvedNode>, std::greater<>> open_;
};

}  // namespace

std::optional<PlanProblem> halve(std::vector<TableSlice>& slices, std::size_t step, int index) {
  const auto problem = [&](int table, const std::string& what, const std::string& remedy) {
    return PlanProblem{.kind = PlanProblem::Kind::kSplit,
                       .slice = index,
                       .table = table,
                       .what = "column split " + std::to_string(step) + ": " + what,
                       .remedy = remedy};
  };
  if (index < 0 || static_cast<std::size_t>(index) >= slices.size()) {
    return problem(-1, "there is no slice " + std::to_string(index),
                   "there are " + std::to_string(slices.size()));
  }
  TableSlice& slice = slices[static_cast<std::size_t>(index)];
  if (!can_split_columns(slice.dim)) {
    return problem(slice.table,
                   "slice " + std::to_string(index) + " has dim " + std::to_string(slice.dim) +
                       ", whose half is not a multiple of 4",
                   "leave this step out");
  }
  slice.dim /= 2;
  TableSlice second = slice;
  second.first_column += slice.dim;
  slices.push_back(second);
  return std::nullopt;
}

std::vector<TableSlice> split_columns(const Task& task, const std::vector<int>& column_splits) {
  std::vector<TableSlice> slices = whole_tables(task);
  slices.reserve(slices.size() + column_splits.size());
  for (std::size_t step = 0; step < column_splits.size(); ++step) {
    const std::optional<PlanProblem> problem = halve(slices, step, column_splits[step]);
    if (problem) throw Error("plan: " + problem->message());
  }
  return slices;
}

Plan plan_from_halvings(const Task& task, HalvedPlan halved) {
  return {split_columns(task, halved.column_splits), std::move(halved.shards)};
}

std::optional<HalvedPlan> halvings_of(const Plan& plan) {
  if (!plan.replicas.empty() || !plan.deduplicated.empty() || !plan.hot_rows.empty()) {
    return std::nullopt;
  }
  Halver halver(plan.slices);
  std::optional<std::vector<int>> column_splits = halver.splits();
  if (!column_splits) return std::nullopt;
  HalvedPlan halved{*std::move(column_splits), plan.shards};
  for (std::vector<int>& shard : halved.shards) {
    for (int& slice : shard) slice = halver.indices()[static_cast<std::size_t>(slice)];
  }
  return halved;
}

}  // namespace neuroshard
