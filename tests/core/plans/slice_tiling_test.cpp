// Slices have to cover the rows and columns of tables once: rectangles that do, and what is wrong
// with others, against counting each cell.
#include "core/plans/slice_tiling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "neuroshard/plan_check.h"
#include "repetitions.h"

namespace neuroshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Task task_of(const std::vector<std::pair<std::int64_t, int>>& rows_and_dims) {
  Task task;
  for (const auto& [rows, dim] : rows_and_dims) task.tables.push_back({"", rows, dim, 1.0, {}});
  task.devices = 1;
  task.memory_bytes = std::int64_t{1} << 60;
  return task;
}

std::vector<std::string> problems_of(const std::vector<TableSlice>& slices, const Task& task) {
  std::vector<PlanProblem> problems;
  add_tiling_problems(Plan{slices, {}}, task, problems);
  std::vector<std::string> lines;
  for (const PlanProblem& problem : problems) {
    EXPECT_EQ(problem.kind, PlanProblem::Kind::kSlice);
    lines.push_back(problem.message());
  }
  return lines;
}

const Task& one_table() {
  static const Task task = task_of({{10, 16}});
  return task;
}

/// Cuts at random until the pieces are small or luck ends it.
void cut(const TableSlice& slice, std::mt19937_64& random, std::vector<TableSlice>& slices) {
  TableSlice first = slice;
  TableSlice second = slice;
  if (random() % 3 == 0 && slice.rows > 1) {
    first.rows =
        1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(slice.rows - 1));
    second.first_row += first.rows;
    second.rows -= first.rows;
  } else if (random() % 3 > 0 && slice.dim > 4) {
    first.dim = 4 + 4 * static_cast<int>(random() % static_cast<std::uint64_t>(slice.dim / 4 - 1));
    second.first_column += first.dim;
    second.dim -= first.dim;
  } else {
    slices.push_back(slice);
    return;
  }
  cut(first, random, slices);
  cut(second, random, slices);
}

/// A random tiling of each table, in random order. One cannot be made by cuts from edge to edge.
std::vector<TableSlice> random_tiling(const Task& task, std::mt19937_64& random) {
  std::vector<TableSlice> slices;
  for (const TableSlice& whole : whole_tables(task)) {
    if (whole.rows >= 3 && whole.dim >= 12 && random() % 4 == 0) {
      const int t = whole.table;
      const std::int64_t r = whole.rows;
      const int d = whole.dim;
      for (const TableSlice& arm :
           {TableSlice{t, 0, d - 4, 0, 1}, TableSlice{t, d - 4, 4, 0, r - 1},
            TableSlice{t, 4, d - 4, r - 1, 1}, TableSlice{t, 0, 4, 1, r - 1},
            TableSlice{t, 4, d - 8, 1, r - 2}}) {
        cut(arm, random, slices);
      }
    } else {
      cut(whole, random, slices);
    }
  }
  std::shuffle(slices.begin(), slices.end(), random);
  return slices;
}

Task random_small_task(std::mt19937_64& random) {
  std::vector<std::pair<std::int64_t, int>> tables(1 + random() % 4);
  for (auto& [rows, dim] : tables) {
    rows = 1 + static_cast<std::int64_t>(random() % 12);
    dim = 4 + 4 * static_cast<int>(random() % 8);
  }
  return task_of(tables);
}

/// How often each row of each group of 4 columns of each table is covered: none, once, more often.
struct Counts {
  std::int64_t uncovered = 0;
  bool overlap = false;
};
Counts counts_of(const std::vector<TableSlice>& slices, const Task& task) {
  Counts counts;
  for (int t = 0; t < static_cast<int>(task.tables.size()); ++t) {
    const Table& table = task.tables[static_cast<std::size_t>(t)];
    for (int column = 0; column < table.dim; ++column) {
      for (std::int64_t row = 0; row < table.rows; ++row) {
        int covers = 0;
        for (const TableSlice& slice : slices) {
          covers += slice.table == t && slice.first_column <= column &&
                    column < slice.first_column + slice.dim && slice.first_row <= row &&
                    row < slice.first_row + slice.rows;
        }
        counts.uncovered += covers == 0 ? 1 : 0;
        counts.overlap = counts.overlap || covers > 1;
      }
    }
  }
  return counts;
}

TEST(SliceTiling, EveryTilingIsValid) {
  std::mt19937_64 random(1);
  std::size_t most = 0;
  for (std::uint64_t i = 0; i < testing::repetitions(2000); ++i) {
    const Task task = random_small_task(random);
    const std::vector<TableSlice> slices = random_tiling(task, random);
    most = std::max(most, slices.size());
    ASSERT_THAT(problems_of(slices, task), IsEmpty()) << "tiling " << i;
  }
  EXPECT_GT(most, 20U);
}

// One slice of a tiling is taken away, doubled, moved or resized: the check says overlap or gap
// exactly where counting does.
TEST(SliceTiling, FindsEveryOverlapAndGap) {
  std::mt19937_64 random(2);
  int overlaps = 0;
  int gaps = 0;
  for (std::uint64_t i = 0; i < testing::repetitions(1500); ++i) {
    SCOPED_TRACE(i);
    const Task task = random_small_task(random);
    std::vector<TableSlice> slices = random_tiling(task, random);
    for (std::size_t changes = 1 + random() % 2; changes-- > 0 && !slices.empty();) {
      const std::size_t at = random() % slices.size();
      const TableSlice slice = slices[at];
      const Table& table = task.tables[static_cast<std::size_t>(slice.table)];
      switch (random() % 4) {
        case 0:
          slices.erase(slices.begin() + static_cast<std::ptrdiff_t>(at));
          break;
        case 1:
          slices.push_back(slice);
          break;
        case 2:
          slices[at].first_row = static_cast<std::int64_t>(
              random() % static_cast<std::uint64_t>(table.rows - slice.rows + 1));
          slices[at].first_column =
              4 * static_cast<int>(random() %
                                   static_cast<std::uint64_t>((table.dim - slice.dim) / 4 + 1));
          break;
        default:
          slices[at].dim =
              4 + 4 * static_cast<int>(random() % static_cast<std::uint64_t>(
                                                      (table.dim - slice.first_column) / 4));
          break;
      }
    }
    const Counts counts = counts_of(slices, task);
    std::vector<PlanProblem> problems;
    add_tiling_problems(Plan{slices, {}}, task, problems);
    const auto says = [&](const char* what) {
      return std::any_of(problems.begin(), problems.end(), [&](const PlanProblem& problem) {
        return problem.what.find(what) != std::string::npos;
      });
    };
    EXPECT_EQ(says("overlaps"), counts.overlap);
    EXPECT_EQ(says("in no slice"), counts.uncovered > 0);
    overlaps += counts.overlap ? 1 : 0;
    gaps += counts.uncovered > 0 ? 1 : 0;
  }
  EXPECT_GT(overlaps, NEUROSHARD_SANITIZED ? 10 : 200);
  EXPECT_GT(gaps, NEUROSHARD_SANITIZED ? 10 : 200);
}

TEST(SliceTiling, SaysWhichSlicesOverlap) {
  EXPECT_THAT(problems_of({{0, 0, 8, 0, 10}, {0, 4, 12, 0, 6}, {0, 8, 8, 6, 4}}, one_table()),
              ElementsAre("slice 1 (columns 4 to 15 of rows 0 to 5 of table 0) overlaps slice 0 "
                          "(columns 0 to 7 of table 0); place each row and column once"));
}

TEST(SliceTiling, ListsAThousandOverlapsOfATable) {
  constexpr int kSlices = 100'000;
  const Task task = task_of({{kSlices, 4}, {10, 16}});
  std::vector<TableSlice> slices;
  for (int i = 0; i < kSlices; ++i) slices.push_back({0, 0, 4, i / 2 * 2, 2});
  slices.insert(slices.end(), {{1, 0, 16, 0, 10}, {1, 0, 4, 0, 10}});
  const std::vector<std::string> problems = problems_of(slices, task);
  ASSERT_EQ(problems.size(), 1001U);
  EXPECT_THAT(problems.back(), HasSubstr("table 1"));
}

TEST(SliceTiling, SaysWhatIsInNoSlice) {
  EXPECT_THAT(problems_of({{0, 0, 4, 0, 10}, {0, 12, 4, 0, 10}}, one_table()),
              ElementsAre("columns 4 to 11 of table 0 are in no slice; place each row and column "
                          "once"));
  EXPECT_THAT(
      problems_of({{0, 0, 8, 0, 10}, {0, 8, 4, 0, 7}, {0, 12, 4, 4, 6}}, one_table()),
      ElementsAre("columns 8 to 11 of rows 7 to 9 of table 0 are in no slice, nor are 16 other "
                  "weights of the table; place each row and column once"));
  EXPECT_THAT(problems_of({}, one_table()),
              ElementsAre("columns 0 to 15 of table 0 are in no slice; place each row and column "
                          "once"));
}

TEST(SliceTiling, SaysWhatIsWrongWithASliceAlone) {
  const auto says = [](const TableSlice& slice, const char* what) {
    EXPECT_THAT(problems_of({slice, {0, 0, 16, 0, 10}}, one_table()),
                ::testing::Contains(HasSubstr(what)))
        << what;
  };
  says({1, 0, 16, 0, 10}, "slice 0 is of table 1; the task has tables 0 to 0");
  says({-1, 0, 16, 0, 10}, "slice 0 is of table -1");
  says({0, 0, 6, 0, 10}, "slice 0 has 6 columns; give a multiple of 4, 4 or more");
  says({0, 0, 0, 0, 10}, "slice 0 has 0 columns");
  says({0, 8, 12, 0, 10}, "slice 0 begins at column 8 and has 12 of table 0, which has 16");
  says({0, -4, 8, 0, 10}, "slice 0 begins at column -4 and has 8");
  says({0, 0, 16, 10, 0},
       "slice 0 has 0 rows; cut table 0 into at most 10 row blocks, as many as it has rows");
  says({0, 0, 16, 8, 3}, "slice 0 begins at row 8 and has 3 of table 0, which has 10");
  says({0, 0, 16, -1, 3}, "slice 0 begins at row -1");
  constexpr int kMost = std::numeric_limits<int>::max();
  constexpr int kLeast = std::numeric_limits<int>::min();
  constexpr std::int64_t kMostRows = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeastRows = std::numeric_limits<std::int64_t>::min();
  for (const int column : {kLeast, -1, 0, 15, kMost}) {
    for (const int dim : {kLeast, 4, kMost}) {
      for (const std::int64_t row : {kLeastRows, std::int64_t{0}, kMostRows}) {
        for (const std::int64_t rows : {kLeastRows, std::int64_t{1}, kMostRows}) {
          EXPECT_THAT(problems_of({{0, column, dim, row, rows}, {0, 0, 16, 0, 10}}, one_table()),
                      ::testing::Not(IsEmpty()));
        }
      }
    }
  }
}

// A slice that reaches outside its table still covers what is inside; no gap comes of it.
TEST(SliceTiling, OneMistakeBringsForthNoOthers) {
  EXPECT_THAT(problems_of({{0, 0, 8, 0, 10}, {0, 8, 16, 0, 12}}, one_table()),
              ElementsAre(HasSubstr("begins at column 8 and has 16"),
                          HasSubstr("begins at row 0 and has 12")));
}

TEST(SliceTiling, CoversTheLargestTable) {
  const Task task = task_of({{kMaxRows, kMaxDim}});
  EXPECT_THAT(
      problems_of(
          {{0, 0, 4, 0, kMaxRows}, {0, 4, kMaxDim - 4, 0, 1}, {0, 4, kMaxDim - 4, 1, kMaxRows - 1}},
          task),
      IsEmpty());
  EXPECT_THAT(problems_of({{0, 0, 4, 0, 1}}, task),
              ElementsAre(HasSubstr("columns 0 to 3 of rows 1 to 1099511627775 of table 0 are in "
                                    "no slice, nor are ")));
}

}  // namespace
}  // namespace neuroshard
