#pragma once

#include <span>
#include <string_view>

#pragma GCC visibility push(default)
namespace neuroshard {

/// Way in which the rows that a sample looks up in a table become its outputs.
enum class Pooling {
  kSum,   ///< One output for each feature that reads the table: their sum,
  kMean,  ///< or their mean.
  kNone,  ///< An output for each lookup, as sequence models have them.
};

/// "sum", "mean", "none".
[[nodiscard]] std::span<const Pooling> all_poolings();
[[nodiscard]] std::string_view name_of(Pooling pooling);
/// Throws Error listing the names.
[[nodiscard]] Pooling pooling_from_name(std::string_view name);

}  // namespace neuroshard
#pragma GCC visibility pop
