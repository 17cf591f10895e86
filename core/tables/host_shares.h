#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "neuroshard/task.h"

namespace neuroshard {

/// Whether devices take of their node's host memory what they need, so that plans are limited by
/// what all of a node take. Beside an SSD they have equal parts: it has what these lack.
[[nodiscard]] inline bool pools_host_memory(const Task& task) {
  return task.host.of_node && task.host.bytes > 0 && task.host.ssd_bytes == 0;
}

/// Whether its host is said to be another one than HostMemory says of all devices.
[[nodiscard]] bool states_host(const Device& device);

/// As the task states it for all devices, and for this one.
[[nodiscard]] HostMemory stated_host(const Task& task, std::size_t device);

/// Leaves each of so many parts of a node an equal part of the memory that its devices share.
void share_host_memory(Task& task, int parts);

/// Host memory of a device: an equal part of its node's, if that is stated.
[[nodiscard]] std::int64_t even_host_bytes(const Task& task, std::size_t device);

/// Host memory as it limits a device by itself: not at all, where devices share it as they need it.
[[nodiscard]] HostMemory host_of_device(const Task& task, std::size_t device);

/// Links between devices and hosts, by their rates.
struct HostLinks {
  std::vector<double> gb_s;              ///< Each rate once.
  std::vector<std::uint32_t> of_device;  ///< [devices]: indices into these.
};

/// All the same if `task` has no host memory.
[[nodiscard]] HostLinks host_links(const Task& task);

/// So many different rates a task may have.
inline constexpr std::size_t kMostHostLinks = 8;

/// Bytes of host memory that the devices of a node share.
[[nodiscard]] std::int64_t pool_bytes(const Task& task, std::size_t node);

/// [nodes]: sums of what devices take; empty unless pools_host_memory().
[[nodiscard]] std::vector<std::int64_t> pooled_bytes(const Task& task,
                                                     std::span<const std::int64_t> of_devices);

/// Sum of the bytes that nodes lack if they take so much.
[[nodiscard]] std::int64_t pools_missing_bytes(const Task& task,
                                               std::span<const std::int64_t> of_nodes);

}  // namespace neuroshard
