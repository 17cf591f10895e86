#include "neuroshard/table_memory.h"

namespace neuroshard {

namespace {

constexpr std::int64_t kStateBytes = 4;  // fp32.
constexpr std::int64_t kScaleAndBiasBytes = 8;

}  // namespace

RowBytes weight_bytes(WeightType type) {
  switch (type) {
    case WeightType::kFp32:
      return {.per_column = 4};
    case WeightType::kFp16:
    case WeightType::kBf16:
      return {.per_column = 2};
    case WeightType::kInt8:
      return {.per_column = 1, .per_row = kScaleAndBiasBytes};
  }
  return {};
}

RowBytes state_bytes(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::kSgd:
      return {};
    case Optimizer::kRowwiseAdagrad:
      return {.per_row = kStateBytes};
    case Optimizer::kAdagrad:
    case Optimizer::kLarsSgd:
      return {.per_column = kStateBytes};
    case Optimizer::kAdam:
    case Optimizer::kLamb:
      return {.per_column = 2 * kStateBytes};
    case Optimizer::kPartialRowwiseAdam:
    case Optimizer::kPartialRowwiseLamb:
      return {.per_column = kStateBytes, .per_row = kStateBytes};
  }
  return {};
}

}  // namespace neuroshard
