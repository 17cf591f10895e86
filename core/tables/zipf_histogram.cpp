#include "neuroshard/zipf_histogram.h"

#include <string>

#include "core/base/message_text.h"
#include "core/tables/zipf_law.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

void require(bool good, const char* what, double value, const char* remedy) {
  if (!good) {
    throw Error(std::string("access histogram: ") + what + " is " + shortest_text(value) +
                "; give " + remedy);
  }
}

}  // namespace

std::array<double, kHistogramBins> zipf_histogram(std::int64_t rows, double pooling_factor,
                                                  double exponent, std::int64_t batch_size) {
  constexpr auto kMost = static_cast<double>(kMaxRows);
  const auto batch = static_cast<double>(batch_size);
  require(rows >= 1 && rows <= kMaxRows, "row", static_cast<double>(rows), "1 to 2^40");
  require(pooling_factor >= 0.0 && pooling_factor <= kMost, "pooling_factor", pooling_factor,
          "a number between 0 and 2^40");
  require(exponent >= 0.0 && exponent <= 16.0, "zipf_exponent", exponent,
          "a number between 0 and 16");
  require(batch_size >= 1 && batch <= kMost, "batch size", batch, "1 to 2^40");

  return ZipfLaw(exponent).histogram(static_cast<double>(rows), pooling_factor * batch);
}

}  // namespace neuroshard
