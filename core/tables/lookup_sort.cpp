#include "core/tables/lookup_sort.h"

#include <cmath>

namespace neuroshard {
namespace {

constexpr double kIndexBytes = 8.0;
constexpr double kKeyBytes = 4.0;     // Row of the shard; 8 beyond 2^32 rows.
constexpr double kValueBytes = 4.0;   // Which bag the lookup belongs to.
constexpr double kBitsPerPass = 8.0;  // A digit of the radix sort.

}  // namespace

LookupSort lookup_sort(double lookups, double rows) {
  const double key_bits = std::ceil(std::log2(rows));
  const double key_bytes = key_bits > 32.0 ? 2.0 * kKeyBytes : kKeyBytes;
  const double passes = std::ceil(key_bits / kBitsPerPass);
  const double pair_bytes = key_bytes + kValueBytes;
  double bytes = lookups * (kIndexBytes + pair_bytes);  // Keys are made from the indices.
  bytes += lookups * key_bytes;                         // Digit counts.
  bytes += lookups * 2.0 * pair_bytes * passes;         // Each pass reads and writes all pairs.
  bytes += lookups * key_bytes;                         // Ends of the runs of equal keys.
  return {.bytes = bytes, .passes = passes};
}

}  // namespace neuroshard
