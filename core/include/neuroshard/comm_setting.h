#pragma once

#include <compare>
#include <cstdint>
#include <optional>

#include "neuroshard/exchange_types.h"
#include "neuroshard/node_links.h"
#include "neuroshard/task.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// Properties of a task that communication models are made for, besides where its columns are.
/// Devices count if a property differs from its default, or if links are stated, by the setting or
/// by the models' hardware. Nodes count if links are stated.
struct CommSetting {
  std::int64_t batch_size = kDefaultBatchSize;
  int devices = 0;           ///< 0: any number of them.
  int devices_per_node = 0;  ///< 0: no links.
  NodeLinks links{};
  /// Nodes are as full as each other, whichever devices are in them.
  bool nodes_anywhere = false;
  ExchangeTypes exchange{};  ///< Ids that plans deduplicate, and hot rows, make no difference.
  /// Networks see columns in this unit, a power of two. Above 1 if tables that are not pooled have
  /// far more than any sample of training.
  double column_unit = 1.0;

  // clang-tidy takes the 0 that a comparison is compared with for a pointer.
  // NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const CommSetting&, const CommSetting&) = default;
  // Stated, since nvcc's host code warns that the implied one is never defined.
  friend bool operator==(const CommSetting&, const CommSetting&) = default;
};

/// Setting of `task`. `hardware` is hardware_network() of the models.
[[nodiscard]] CommSetting comm_setting(const Task& task,
                                       const std::optional<NodeNetwork>& hardware = std::nullopt);

}  // namespace neuroshard
#pragma GCC visibility pop
