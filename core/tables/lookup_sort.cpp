#include "core/tables/lookup_sort.h"

#include <cmath>

namespace neuroshard {
namespace {

constexpr double kKeyBytes = 8.0;
constexpr double kBitsPerPass = 8.0;  // A digit of the radix sort.
constexpr double kTimesOfACopy = 6.0;
// Keys, one more than passes, segments, short and long rows.
constexpr double kLaunchesBesidesPasses = 5.0;

// Bits that do not fill a pass count by their part of one: a network cannot see where one begins.
double passes_over(double rows) { return std::log2(rows) / kBitsPerPass; }

}  // namespace

LookupSort lookup_sort(double lookups, double rows) {
  const double passes = passes_over(rows);
  double bytes = kIndexBytes + kSortedBytes;  // Keys are made from the indices.
  bytes += kKeyBytes;                         // Digit counts.
  bytes += 2.0 * kSortedBytes * passes;       // Each pass reads and writes all pairs.
  bytes += kKeyBytes;                         // Ends of the runs of equal keys.
  return {.copied_bytes = kTimesOfACopy * lookups * bytes,
          .launches = kLaunchesBesidesPasses + std::ceil(passes)};
}

LookupSort weight_sort(double lookups, double rows) {
  const double passes = passes_over(rows);
  // A key and a weight are as wide as a key and a bag.
  return {.copied_bytes = lookups * (kKeyBytes + 2.0 * kSortedBytes * passes),
          .launches = 1.0 + std::ceil(passes)};
}

}  // namespace neuroshard
