#include <limits>

#include "core/base/message_text.h"
#include "core/tables/table_label.h"
#include "neuroshard/task_file.h"

namespace neuroshard {
namespace {

constexpr double kSamples = 65'536.0;  // Samples that histograms describe.

/// Published tables contradict their rows by up to 18 times, and cost models are trained on them.
constexpr double kMostContradiction = 32.0;

/// Lookups of a row, on average, if each row is looked up as often as its bin has it at most;
/// infinite with rows in the open bin.
double most_touches(const Table& table, double sum) {
  if (table.access_histogram.back() > 0.0) return std::numeric_limits<double>::infinity();
  double touches = 0.0;
  double most = 1.0;
  for (const double share : table.access_histogram) {
    touches += share / sum * most;
    most *= 2.0;
  }
  return touches;
}

/// Empty if the histogram may be that of the table.
std::string contradiction_of(const Table& table) {
  const double lookups = table.pooling_factor * kSamples;
  if (lookups <= 0.0) return {};
  double sum = 0.0;
  for (const double share : table.access_histogram) sum += share;
  if (sum <= 0.0) {
    return "bin_0 to bin_16 are all 0, as of a table that is never looked up, but pooling_factor "
           "is " +
           shortest_text(table.pooling_factor);
  }
  const double touches = most_touches(table, sum);
  const auto rows = static_cast<double>(table.rows);
  if (lookups <= kMostContradiction * touches * rows) return {};
  return "65,536 samples look up " + format_count(static_cast<std::uint64_t>(lookups)) +
         " times in " + counted(static_cast<std::uint64_t>(table.rows), "row") +
         ", but by bin_0 to bin_16 a row is touched " + format_number(touches, 1) +
         " times at most";
}

}  // namespace

std::string doubtful_histograms_note(const std::vector<Table>& tables) {
  std::uint64_t doubtful = 0;
  std::string first;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const std::string contradiction = contradiction_of(tables[t]);
    if (contradiction.empty() || doubtful++ > 0) continue;
    first = label_of(tables[t], t) + ": " + contradiction;
  }
  if (doubtful == 0) return {};
  return first + "; costs are doubtful: measure the access histogram again, or leave it out" +
         (doubtful > 1 ? "; the same holds for " + counted(doubtful - 1, "other table") : "");
}

}  // namespace neuroshard
