#pragma once

#include <span>
#include <string_view>

#pragma GCC visibility push(default)
namespace neuroshard {

/// Gradients that devices exchange for a table that every one of them holds.
enum class ReplicaGradients {
  kDense,    ///< All rows: an all-reduce, and an optimizer that passes over the whole table.
  kTouched,  ///< The rows that its part of the batch touches, from every device: an all-gather.
};

/// "dense", "touched".
[[nodiscard]] std::span<const ReplicaGradients> all_replica_gradients();
[[nodiscard]] std::string_view name_of(ReplicaGradients gradients);
/// Throws Error listing the names.
[[nodiscard]] ReplicaGradients replica_gradients_from_name(std::string_view name);

}  // namespace neuroshard
#pragma GCC visibility pop
