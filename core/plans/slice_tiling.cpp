#include "core/plans/slice_tiling.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "core/plans/hot_rows.h"

namespace neuroshard {
namespace {

// Limit for one table. To say with which slice one overlaps takes a look at all of the table, and
// nobody mends more than so many one by one.
constexpr int kMostOverlaps = 1000;

constexpr const char* kCoverOnce = "place each row and column once";

std::string extent_text(const char* what, std::int64_t first, std::int64_t count) {
  return std::string(what) + " " + std::to_string(first) + " to " +
         std::to_string(first + count - 1);
}

/// Rows of a table, and how many of them the slices at one column cover: a tree over the pieces
/// into which the ends of slices cut the rows.
class CoveredRows {
 public:
  /// `ends`: of the pieces, ascending; the first is the first row, the last is behind the last.
  void reset(std::vector<std::int64_t> ends) {
    ends_ = std::move(ends);
    nodes_.assign(4 * pieces(), {});
  }

  /// Adds one more cover of rows `first` to `end`, which are ends, or takes one away.
  void change(std::int64_t first, std::int64_t end, int by) {
    change(0, 0, pieces(), index_of(first), index_of(end), by);
  }

  [[nodiscard]] std::int64_t covered() const { return nodes_[0].covered; }

  /// The first rows that are not covered, as first row and number.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> first_gap() const {
    Gap gap;
    find_gap(0, 0, pieces(), gap);
    return {gap.first, gap.end - gap.first};
  }

 private:
  struct Node {
    int covers = 0;            ///< Slices over all of it that are not over all of its parent.
    std::int64_t covered = 0;  ///< Rows in any slice, those of parents left out.
  };
  struct Gap {
    std::int64_t first = -1;
    std::int64_t end = -1;
    bool ended = false;
  };

  [[nodiscard]] std::size_t pieces() const { return ends_.size() - 1; }
  [[nodiscard]] std::size_t index_of(std::int64_t end) const {
    return static_cast<std::size_t>(std::lower_bound(ends_.begin(), ends_.end(), end) -
                                    ends_.begin());
  }

  void change(std::size_t node, std::size_t low, std::size_t high, std::size_t first,
              std::size_t end, int by) {
    if (first >= high || end <= low) return;
    if (first <= low && high <= end) {
      nodes_[node].covers += by;
    } else {
      const std::size_t middle = (low + high) / 2;
      change(2 * node + 1, low, middle, first, end, by);
      change(2 * node + 2, middle, high, first, end, by);
    }
    if (nodes_[node].covers > 0) {
      nodes_[node].covered = ends_[high] - ends_[low];
    } else if (high - low == 1) {
      nodes_[node].covered = 0;
    } else {
      nodes_[node].covered = nodes_[2 * node + 1].covered + nodes_[2 * node + 2].covered;
    }
  }

  void find_gap(std::size_t node, std::size_t low, std::size_t high, Gap& gap) const {
    if (gap.ended) return;
    const std::int64_t covered = nodes_[node].covered;
    if (covered == ends_[high] - ends_[low]) {
      gap.ended = gap.first >= 0;
    } else if (covered == 0) {
      if (gap.first < 0) gap.first = ends_[low];
      gap.end = ends_[high];
    } else {
      const std::size_t middle = (low + high) / 2;
      find_gap(2 * node + 1, low, middle, gap);
      find_gap(2 * node + 2, middle, high, gap);
    }
  }

  std::vector<std::int64_t> ends_{0, 1};
  std::vector<Node> nodes_{1};
};

class TilingCheck {
 public:
  TilingCheck(const Plan& plan, const Task& task, std::vector<PlanProblem>& problems)
      : slices_(plan.slices), task_(task), problems_(problems) {
    for (const Table& table : task.tables) extents_.push_back({table.dim, table.rows});
    check_replicas(plan.replicas);
    check_deduplicated(plan.deduplicated);
    check_hot_rows(plan.hot_rows);
  }

  void run() {
    std::vector<int> by_table;
    for (int slice = 0; slice < static_cast<int>(slices_.size()); ++slice) {
      if (check_alone(slice)) by_table.push_back(slice);
    }
    const auto table_of = [&](int slice) { return at(slice).table; };
    std::ranges::stable_sort(by_table, {}, table_of);
    auto begin = by_table.begin();
    for (std::size_t t = 0; t < task_.tables.size(); ++t) {
      const auto table = static_cast<int>(t);
      const auto end = std::ranges::upper_bound(begin, by_table.end(), table, {}, table_of);
      const std::span<const int> own(begin, end);
      replicated_[t] ? check_replicated_table(table, own) : check_table(table, own);
      begin = end;
    }
  }

 private:
  /// Slices of a table cover it.
  struct Extent {
    int dim;
    std::int64_t rows;  ///< But for hot rows.
  };

  /// Calls visit(place in the list) for each listed table that the task has.
  void check_list(const std::vector<int>& listed, const char* does, const char* done,
                  const std::function<void(std::size_t)>& visit) {
    for (std::size_t i = 0; i < listed.size(); ++i) {
      const int table = listed[i];
      if (!has_table(task_, table)) {
        add(-1, -1, std::string(does) + " table " + std::to_string(table),
            "the task has tables 0 to " + std::to_string(task_.tables.size() - 1));
        continue;
      }
      visit(i);
      if (i > 0 && listed[i - 1] >= table) {
        add(-1, table,
            "lists table " + std::to_string(table) + " behind table " +
                std::to_string(listed[i - 1]) + " as " + done,
            std::string("list each ") + done + " table once, in ascending order");
      }
    }
  }

  void check_replicas(const std::vector<int>& replicas) {
    replicated_.assign(task_.tables.size(), false);
    check_list(replicas, "replicates", "replicated",
               [&](std::size_t i) { replicated_[static_cast<std::size_t>(replicas[i])] = true; });
  }

  void check_deduplicated(const std::vector<int>& deduplicated) {
    if (!deduplicated.empty() && !task_.exchange.deduplicate_by_table) {
      add(-1, -1, "deduplicates ids of tables",
          "the task's exchange does not say deduplicate_by_table: say so if the runtime can, or "
          "deduplicate none");
    }
    check_list(deduplicated, "deduplicates ids of", "deduplicated", [&](std::size_t i) {
      const int table = deduplicated[i];
      const bool of_task = task_.exchange.deduplicate_ids &&
                           task_.tables[static_cast<std::size_t>(table)].pooling == Pooling::kNone;
      if (!of_task && !replicated_[static_cast<std::size_t>(table)]) return;
      add(-1, table,
          "deduplicates ids of table " + std::to_string(table) +
              (of_task ? ", which deduplicate_ids of exchange does already"
                       : ", which is replicated and sends none"),
          "leave the table out of deduplicated");
    });
  }

  void check_hot_rows(const std::vector<HotRows>& hot_rows) {
    if (hot_rows.empty()) return;
    if (!task_.exchange.hot_rows) {
      add(-1, -1, "keeps rows of tables on every device",
          "the task's exchange does not say hot_rows: say so if the runtime can, or keep none");
    }
    std::vector<int> tables;
    tables.reserve(hot_rows.size());
    for (const HotRows& hot : hot_rows) tables.push_back(hot.table);
    check_list(tables, "keeps rows on every device of", "one of hot_rows", [&](std::size_t i) {
      const HotRows& hot = hot_rows[i];
      const int table = hot.table;
      if (const std::optional<std::string> problem = hot_rows_problem_of(task_, hot)) {
        const std::size_t end = problem->rfind("; ");
        add(-1, table, problem->substr(0, end), problem->substr(end + 2));
      } else if (replicated_[static_cast<std::size_t>(table)]) {
        add(-1, table,
            "keeps rows of table " + std::to_string(table) +
                " on every device, which is replicated",
            "leave the table out of hot_rows");
      } else {
        const std::int64_t all = task_.tables[static_cast<std::size_t>(table)].rows;
        extents_[static_cast<std::size_t>(table)].rows = all - hot.all();
      }
    });
  }

  void check_replicated_table(int table, std::span<const int> own) {
    if (own.empty()) return;
    add(own.front(), table,
        "slice " + std::to_string(own.front()) + " is of table " + std::to_string(table) +
            ", which is replicated",
        "leave out the slices of the table, or do not replicate it");
  }

  [[nodiscard]] const TableSlice& at(int slice) const {
    return slices_[static_cast<std::size_t>(slice)];
  }
  [[nodiscard]] const Extent& extent_of(int table) const {
    return extents_[static_cast<std::size_t>(table)];
  }

  /// The part inside its table of a slice that covers something, and may end outside.
  [[nodiscard]] TableSlice inside(int index) const {
    TableSlice slice = at(index);
    const Extent& table = extent_of(slice.table);
    slice.dim = std::min(slice.dim, table.dim - slice.first_column);
    slice.rows = std::min(slice.rows, table.rows - slice.first_row);
    return slice;
  }

  void add(int slice, int table, std::string what, std::string remedy) {
    problems_.push_back({.kind = PlanProblem::Kind::kSlice,
                         .slice = slice,
                         .table = table,
                         .what = std::move(what),
                         .remedy = std::move(remedy)});
  }

  /// Whether it covers something.
  bool check_alone(int index) {
    const TableSlice& slice = at(index);
    const std::string label = "slice " + std::to_string(index) + " ";
    if (!has_table(task_, slice.table)) {
      add(index, -1, label + "is of table " + std::to_string(slice.table),
          "the task has tables 0 to " + std::to_string(task_.tables.size() - 1));
      return false;
    }
    const Extent& table = extent_of(slice.table);
    const std::string of_table = " of table " + std::to_string(slice.table) + ", which has ";
    if (slice.dim < 1 || slice.dim % kDimMultiple != 0) {
      add(index, slice.table, label + "has " + std::to_string(slice.dim) + " columns",
          "give a multiple of 4, 4 or more");
    }
    if (slice.first_column < 0 ||
        slice.first_column > std::int64_t{table.dim} - std::max(slice.dim, 0)) {
      add(index, slice.table,
          label + "begins at column " + std::to_string(slice.first_column) + " and has " +
              std::to_string(slice.dim) + of_table + std::to_string(table.dim),
          "cut between column 0 and the last");
    }
    if (slice.rows < 1) {
      add(index, slice.table, label + "has " + std::to_string(slice.rows) + " rows",
          "cut table " + std::to_string(slice.table) + " into at most " +
              std::to_string(table.rows) + " row blocks, as many as it has rows");
    } else if (slice.first_row < 0 || slice.first_row > table.rows - slice.rows) {
      add(index, slice.table,
          label + "begins at row " + std::to_string(slice.first_row) + " and has " +
              std::to_string(slice.rows) + of_table + std::to_string(table.rows),
          "cut between row 0 and the last");
    }
    return slice.dim > 0 && slice.rows > 0 && slice.first_column >= 0 && slice.first_row >= 0 &&
           slice.first_column < table.dim && slice.first_row < table.rows;
  }

  void check_table(int table, std::span<const int> own) {
    const Extent& whole = extent_of(table);
    if (own.size() == 1 && inside(own[0]) == TableSlice{table, 0, whole.dim, 0, whole.rows}) return;
    start_sweep(whole, own);
    std::optional<TableSlice> gap;  // The first one.
    std::int64_t uncovered = 0;     // Columns times rows.
    int column = 0;
    std::size_t next = 0;
    while (column < whole.dim) {
      for (; next < edges_.size() && edges_[next].column == column; ++next) {
        pass(edges_[next], whole, own);
      }
      const int end = next < edges_.size() ? edges_[next].column : whole.dim;
      if (rows_.covered() < whole.rows) {
        uncovered += (whole.rows - rows_.covered()) * (end - column);
        const auto [first_row, rows] = rows_.first_gap();
        if (!gap) {
          gap = {table, column, end - column, first_row, rows};
        } else if (gap->first_column + gap->dim == column && gap->first_row == first_row &&
                   gap->rows == rows) {
          gap->dim = end - gap->first_column;
        }
      }
      column = end;
    }
    if (gap) report_gap(*gap, uncovered, whole);
  }

  /// Where a slice begins or ends.
  struct Edge {
    int column;
    bool begins;
    int slice;
  };

  void start_sweep(const Extent& whole, std::span<const int> own) {
    edges_.clear();
    overlaps_ = 0;
    std::vector<std::int64_t> ends{0, whole.rows};
    for (const int slice : own) {
      const TableSlice held = inside(slice);
      edges_.push_back({held.first_column, true, slice});
      edges_.push_back({held.first_column + held.dim, false, slice});
      ends.insert(ends.end(), {held.first_row, held.first_row + held.rows});
    }
    std::sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) {
      if (a.column != b.column) return a.column < b.column;
      return a.begins != b.begins ? b.begins : a.slice < b.slice;
    });
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    rows_.reset(std::move(ends));
  }

  void pass(const Edge& edge, const Extent& whole, std::span<const int> own) {
    const TableSlice slice = inside(edge.slice);
    const std::int64_t end_row = slice.first_row + slice.rows;
    const std::int64_t before = rows_.covered();
    rows_.change(slice.first_row, end_row, edge.begins ? 1 : -1);
    if (!edge.begins || rows_.covered() - before == slice.rows) return;
    if (++overlaps_ > kMostOverlaps) return;
    const auto other = std::ranges::find_if(own, [&](int index) {
      const TableSlice held = inside(index);
      const bool begun = held.first_column < edge.column ||
                         (held.first_column == edge.column && index < edge.slice);
      return begun && held.first_column + held.dim > edge.column && held.first_row < end_row &&
             held.first_row + held.rows > slice.first_row;
    });
    add(edge.slice, slice.table,
        "slice " + std::to_string(edge.slice) + " (" + described(slice, whole.rows) +
            ") overlaps slice " + std::to_string(*other) + " (" +
            described(inside(*other), whole.rows) + ")",
        kCoverOnce);
  }

  void report_gap(const TableSlice& gap, std::int64_t uncovered, const Extent& whole) {
    std::string what = described(gap, whole.rows) + " are in no slice";
    const std::int64_t others = uncovered - gap.rows * gap.dim;
    if (others > 0) what += ", nor are " + std::to_string(others) + " other weights of the table";
    add(-1, gap.table, std::move(what), kCoverOnce);
  }

  const std::vector<TableSlice>& slices_;
  const Task& task_;
  std::vector<PlanProblem>& problems_;
  std::vector<bool> replicated_;  ///< [tables]
  std::vector<Extent> extents_;   ///< [tables]
  std::vector<Edge> edges_;
  int overlaps_ = 0;
  CoveredRows rows_;
};

}  // namespace

bool lies_in_its_table(const TableSlice& slice, const Task& task) {
  if (!has_table(task, slice.table)) return false;
  const Table& table = task.tables[static_cast<std::size_t>(slice.table)];
  return slice.dim > 0 && slice.first_column >= 0 && slice.first_column <= table.dim - slice.dim &&
         slice.rows > 0 && slice.first_row >= 0 && slice.first_row <= table.rows - slice.rows;
}

std::string described(const TableSlice& slice, std::int64_t all_rows) {
  std::string text = extent_text("columns", slice.first_column, slice.dim);
  if (slice.first_row != 0 || slice.rows != all_rows) {
    text += " of " + extent_text("rows", slice.first_row, slice.rows);
  }
  return text + " of table " + std::to_string(slice.table);
}

void add_tiling_problems(const Plan& plan, const Task& task, std::vector<PlanProblem>& problems) {
  TilingCheck(plan, task, problems).run();
}

}  // namespace neuroshard
