#include "core/tables/lookup_sort.h"

#include <cmath>

#include "core/tables/table_work.h"

namespace neuroshard {
namespace {

constexpr double kKeyBytes = 8.0;
constexpr double kTimesOfACopy = 6.0;
// Keys, one more than passes, segments, short and long rows.
constexpr double kLaunchesBesidesPasses = 5.0;

}  // namespace

LookupSort lookup_sort(double lookups, double rows) {
  // Bits that do not fill a pass count by their part of one, as in operators.
  const double passes = std::log2(rows) / kBitsPerPass;
  double bytes = kIndexBytes + kSortedBytes;  // Keys are made from the indices.
  bytes += kKeyBytes;                         // Digit counts.
  bytes += 2.0 * kSortedBytes * passes;       // Each pass reads and writes all pairs.
  bytes += kKeyBytes;                         // Ends of the runs of equal keys.
  return {.copied_bytes = kTimesOfACopy * lookups * bytes,
          .launches = kLaunchesBesidesPasses + std::ceil(passes)};
}

}  // namespace neuroshard
