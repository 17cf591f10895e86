#include "weights/lookups/profiled_table.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "neuroshard/error.h"

namespace neuroshard {
namespace {

constexpr std::int64_t kFewestProfiledRows = 100;

}  // namespace

void require_row_parts(const ProfileOptions& options) {
  if (options.row_parts >= 0 && options.row_parts <= kMaxRowShares) return;
  throw Error("lookups are to be counted for " + std::to_string(options.row_parts) +
              " parts of the rows; give 1 to " + std::to_string(kMaxRowShares) + ", or 0 for none");
}

void check_indices(const AccessData& data, std::size_t table, std::int64_t first,
                   std::span<const std::int64_t> indices) {
  // One pass without branches; the culprit is looked for only if there is one.
  std::int64_t smallest = 0;
  std::int64_t largest = 0;
  for (const std::int64_t index : indices) {
    smallest = std::min(smallest, index);
    largest = std::max(largest, index);
  }
  if (smallest >= 0 && largest < kMaxRows) return;
  const auto wrong = std::find_if(indices.begin(), indices.end(), [](std::int64_t index) {
    return index < 0 || index >= kMaxRows;
  });
  throw Error(data.path.string() + ": table " + std::to_string(table) + ": index " +
              std::to_string(first + (wrong - indices.begin())) + " is " + std::to_string(*wrong) +
              "; indices lie in [0, 2^40)");
}

Table profiled_table(std::int64_t largest_index, std::int64_t lookups, std::int64_t samples,
                     const std::array<std::int64_t, kHistogramBins>& rows_by_bin) {
  Table table{.rows = std::max(kFewestProfiledRows, largest_index + 1),
              .dim = 128,
              .pooling_factor = static_cast<double>(lookups) / static_cast<double>(samples)};
  const auto distinct = std::accumulate(rows_by_bin.begin(), rows_by_bin.end(), std::int64_t{0});
  for (int bin = 0; bin < kHistogramBins && distinct > 0; ++bin) {
    table.access_histogram[bin] =
        static_cast<double>(rows_by_bin[bin]) / static_cast<double>(distinct);
  }
  return table;
}

void ProfileProgress::add(std::size_t lookups) {
  const std::scoped_lock lock(mutex_);
  lookups_ += static_cast<std::int64_t>(lookups);
  if (options_.progress) options_.progress(lookups_);
}

}  // namespace neuroshard
