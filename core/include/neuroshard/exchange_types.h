#pragma once

#include <compare>
#include <string_view>

#pragma GCC visibility push(default)
namespace neuroshard {

/// A type that numbers are sent as.
enum class WireType { kFp32, kFp16, kBf16, kFp8, kInt64, kInt32 };

/// "fp32", "fp16", "bf16", "fp8", "int64", "int32".
[[nodiscard]] std::string_view name_of(WireType type);
[[nodiscard]] double wire_bytes(WireType type);

/// The least share of values that an exchange can be said to send.
inline constexpr double kLeastSentShare = 1e-3;

/// Says how the all-to-alls of an iteration send their data. Operators and memory know nothing of
/// types and shares: values are converted to be sent, and back.
struct ExchangeTypes {
  WireType forward = WireType::kFp32;   ///< Outputs: kFp32, kFp16, kBf16 or kFp8.
  WireType backward = WireType::kFp32;  ///< Their gradients: as outputs.
  WireType ids = WireType::kInt64;      ///< kInt64 or kInt32.
  /// Bytes that are sent over those of all values, kLeastSentShare to 1: less than 1 where a
  /// threshold decides which of them are sent.
  double forward_share = 1.0;
  double backward_share = 1.0;
  /// Whether each device asks once for each row that its part of the batch looks up in an unpooled
  /// table, and makes its lookups of the rows that come back. Pooled tables are not affected.
  bool deduplicate_ids = false;
  /// Whether a plan may say so of single tables, pooled ones too (Plan::deduplicated).
  bool deduplicate_by_table = false;
  /// Whether a plan may keep the most popular rows of tables on every device (Plan::hot_rows).
  bool hot_rows = false;
  /// Whether it may keep the next ones once on each node, too (HotRows::node_rows). Needs hot_rows.
  bool hot_rows_by_node = false;

  /// Bytes of a sample's value of a column.
  [[nodiscard]] double forward_column_bytes() const { return forward_share * wire_bytes(forward); }
  [[nodiscard]] double backward_column_bytes() const {
    return backward_share * wire_bytes(backward);
  }
  /// Columns whose gradients are as many bytes as the ids of a lookup.
  [[nodiscard]] double columns_of_lookup() const {
    return wire_bytes(ids) / backward_column_bytes();
  }

  // clang-tidy takes the 0 that a comparison is compared with for a pointer.
  // NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const ExchangeTypes&, const ExchangeTypes&) = default;
  // Stated, since nvcc's host code warns that the implied one is never defined.
  friend bool operator==(const ExchangeTypes&, const ExchangeTypes&) = default;
};

}  // namespace neuroshard
#pragma GCC visibility pop
