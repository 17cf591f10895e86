#include "core/tables/table_work.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/tables/row_traffic.h"

namespace neuroshard {
namespace {

constexpr int kColumnsOfThread = 4;
constexpr int kLeastThreads = 8;
constexpr int kThreadsOfWarp = 32;
constexpr int kFirstFrequentBin = 6;  // 33 to 64 lookups.
static_assert(first_touches(kFirstFrequentBin) == kThreadsOfWarp + 1);

}  // namespace

TableWork table_work(const Table& table, const AccessProfile& profile, double samples, int dim) {
  TableWork work{.bags = samples * table.features,
                 .lookups = profile.lookups,
                 .outputs = samples * outputs_per_sample(table),
                 .rows = profile.distinct_rows,
                 .weight_bytes = moved_weight_row_bytes(table.memory.weight_type, dim),
                 .state_bytes = moved_state_row_bytes(table.memory.optimizer, dim),
                 .gradient_bytes = moved_fp32_row_bytes(dim)};
  work.output_bytes = work.outputs * fp32_row_bytes(dim);
  for (int bin = kFirstFrequentBin; bin < kHistogramBins; ++bin) {
    work.frequent_rows += profile.rows[bin];
  }
  return work;
}

double warp_share(int dim) {
  const int threads = (dim + kColumnsOfThread - 1) / kColumnsOfThread;
  const auto used = std::bit_ceil(static_cast<unsigned>(std::min(threads, kThreadsOfWarp)));
  return std::max<double>(used, kLeastThreads) / kThreadsOfWarp;
}

double warp_work(int dim) {
  constexpr double kColumnsOfWarp = kColumnsOfThread * kThreadsOfWarp;
  return warp_share(dim) * std::ceil(dim / kColumnsOfWarp);
}

double sort_passes(double rows) {
  constexpr double kBitsOfPass = 8.0;
  return std::log2(rows) / kBitsOfPass;
}

bool has_two_moments(Optimizer optimizer) {
  return state_bytes(optimizer).per_column >= 8 || optimizer == Optimizer::kPartialRowwiseAdam ||
         optimizer == Optimizer::kPartialRowwiseLamb;
}

}  // namespace neuroshard
