#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string_view>

#pragma GCC visibility push(default)
namespace neuroshard {

/// Type in which a weight is stored.
enum class WeightType { kFp32, kFp16, kBf16, kInt8 };

/// Optimizer that trains a table; here the state matters that it keeps for rows and elements.
enum class Optimizer {
  kSgd,  ///< No state; also for tables that are not trained.
  kRowwiseAdagrad,
  kAdagrad,
  kAdam,
  kPartialRowwiseAdam,
  kLamb,
  kPartialRowwiseLamb,
  kLarsSgd,
};

/// "fp32", "fp16", "bf16", "int8".
[[nodiscard]] std::span<const WeightType> all_weight_types();
[[nodiscard]] std::string_view name_of(WeightType type);
/// Throws Error listing the names.
[[nodiscard]] WeightType weight_type_from_name(std::string_view name);

/// "sgd", "rowwise_adagrad", "adagrad", "adam", "partial_rowwise_adam", "lamb",
/// "partial_rowwise_lamb", "lars_sgd".
[[nodiscard]] std::span<const Optimizer> all_optimizers();
[[nodiscard]] std::string_view name_of(Optimizer optimizer);
/// Throws Error listing the names.
[[nodiscard]] Optimizer optimizer_from_name(std::string_view name);

/// Settings that, beside rows and columns, decide how many bytes a table takes on a device.
struct TableMemory {
  WeightType weight_type = WeightType::kFp32;
  Optimizer optimizer = Optimizer::kSgd;
  /// Samples of a training iteration, those of all devices together, whose ids and pooled outputs
  /// count. 0: neither counts. Costs are of Task::batch_size samples whatever it is.
  std::int64_t batch_size = 0;

  // clang-tidy takes the 0 that a comparison is compared with for a pointer.
  // NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const TableMemory&, const TableMemory&) = default;
};

/// Bytes per row: so many for each column, and so many whatever the columns.
struct RowBytes {
  std::int64_t per_column = 0;
  std::int64_t per_row = 0;
};

/// Bytes of weights as FBGEMM lays rows out: an int8 row has its scale and bias, of 4 bytes each,
/// beside it.
[[nodiscard]] RowBytes weight_bytes(WeightType type);
/// Bytes of state as FBGEMM allocates it: fp32, whatever the type of the weights. Each slice of a
/// table has its own state of its rows.
[[nodiscard]] RowBytes state_bytes(Optimizer optimizer);

/// Memory that a slice of a table takes on its device.
struct SliceMemory {
  std::int64_t weight_bytes = 0;
  std::int64_t optimizer_bytes = 0;
  std::int64_t buffer_bytes = 0;  ///< Ids that come in, and pooled outputs.

  [[nodiscard]] std::int64_t total_bytes() const {
    return weight_bytes + optimizer_bytes + buffer_bytes;
  }
  SliceMemory& operator+=(const SliceMemory& more) {
    weight_bytes += more.weight_bytes;
    optimizer_bytes += more.optimizer_bytes;
    buffer_bytes += more.buffer_bytes;
    return *this;
  }
  friend bool operator==(const SliceMemory&, const SliceMemory&) = default;
};

/// Memory of a device that no table may take, e.g. for dense layers and their activations: bytes,
/// and a share of all, which add up.
struct ReservedMemory {
  std::int64_t bytes = 0;
  double share = 0.0;  ///< 0 to less than 1.

  friend bool operator==(const ReservedMemory&, const ReservedMemory&) = default;
};

}  // namespace neuroshard
#pragma GCC visibility pop
