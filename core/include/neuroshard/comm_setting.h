#pragma once

#include <compare>
#include <cstdint>

#include "neuroshard/node_links.h"
#include "neuroshard/task.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// What of a task communication models are made for, besides where its columns are. Devices count
/// if its batch is not kDefaultBatchSize or it states links; nodes if it states links.
struct CommSetting {
  std::int64_t batch_size = kDefaultBatchSize;
  int devices = 0;           ///< 0: any number of them.
  int devices_per_node = 0;  ///< 0: no links.
  NodeLinks links{};

  // clang-tidy takes the 0 that a comparison is compared with for a pointer.
  // NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const CommSetting&, const CommSetting&) = default;
};

[[nodiscard]] inline CommSetting comm_setting(const Task& task) {
  if (!task.links && task.batch_size == kDefaultBatchSize) return {};
  if (!task.links) return {.batch_size = task.batch_size, .devices = task.devices};
  return {task.batch_size, task.devices, task.devices_per_node, *task.links};
}

}  // namespace neuroshard
#pragma GCC visibility pop
