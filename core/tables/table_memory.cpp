#include "neuroshard/table_memory.h"

#include "core/base/enum_names.h"

namespace neuroshard {

static constexpr std::string_view text_of(WeightType type) {
  switch (type) {
    case WeightType::kFp32:
      return "fp32";
    case WeightType::kFp16:
      return "fp16";
    case WeightType::kBf16:
      return "bf16";
    case WeightType::kInt8:
      return "int8";
  }
  return "";
}

static constexpr std::string_view text_of(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::kSgd:
      return "sgd";
    case Optimizer::kRowwiseAdagrad:
      return "rowwise_adagrad";
    case Optimizer::kAdagrad:
      return "adagrad";
    case Optimizer::kAdam:
      return "adam";
    case Optimizer::kPartialRowwiseAdam:
      return "partial_rowwise_adam";
    case Optimizer::kLamb:
      return "lamb";
    case Optimizer::kPartialRowwiseLamb:
      return "partial_rowwise_lamb";
    case Optimizer::kLarsSgd:
      return "lars_sgd";
  }
  return "";
}

namespace {

constexpr auto kWeightTypes = all_named<WeightType>();
constexpr auto kOptimizers = all_named<Optimizer>();

constexpr std::int64_t kStateBytes = 4;  // fp32.
constexpr std::int64_t kScaleAndBiasBytes = 8;

}  // namespace

std::span<const WeightType> all_weight_types() { return kWeightTypes; }

std::string_view name_of(WeightType type) { return name_or_unknown(type); }

WeightType weight_type_from_name(std::string_view name) {
  return named(all_weight_types(), name, "weight type");
}

std::span<const Optimizer> all_optimizers() { return kOptimizers; }

std::string_view name_of(Optimizer optimizer) { return name_or_unknown(optimizer); }

Optimizer optimizer_from_name(std::string_view name) {
  return named(all_optimizers(), name, "optimizer");
}

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
