#include "core/tables/lookup_sort.h"

#include <cmath>

namespace neuroshard {
namespace {

constexpr double kIndexBytes = 8.0;
constexpr double kKeyBytes = 8.0;     // Row of the shard.
constexpr double kValueBytes = 4.0;   // Which bag the lookup belongs to.
constexpr double kBitsPerPass = 8.0;  // A digit of the radix sort.
constexpr double kTimesOfACopy = 6.0;

}  // namespace

LookupSort lookup_sort(double lookups, double rows) {
  // Bits that do not fill a pass count by their part of one: a network cannot see where one begins.
  const double passes = std::log2(rows) / kBitsPerPass;
  constexpr double kPairBytes = kKeyBytes + kValueBytes;
  double bytes = kIndexBytes + kPairBytes;  // Keys are made from the indices.
  bytes += kKeyBytes;                       // Digit counts.
  bytes += 2.0 * kPairBytes * passes;       // Each pass reads and writes all pairs.
  bytes += kKeyBytes;                       // Ends of the runs of equal keys.
  return {.copied_bytes = kTimesOfACopy * lookups * bytes, .passes = std::ceil(passes)};
}

}  // namespace neuroshard
