#pragma once

#include <optional>
#include <span>
#include <string>

#include "neuroshard/devices.h"
#include "neuroshard/host_memory.h"

namespace neuroshard {

// Names in files, options and messages.
inline constexpr const char* kHostGbField = "gb";
inline constexpr const char* kHostNodeGbField = "node_gb";
inline constexpr const char* kHostLinkField = "link_gb_s";
inline constexpr const char* kHostPolicyField = "policy";
inline constexpr const char* kHostPrefetchField = "prefetch";
/// A device that differs calls them so, and the next two as they are.
inline constexpr const char* kDeviceHostGbField = "host_gb";
inline constexpr const char* kDeviceHostLinkField = "host_link_gb_s";
inline constexpr const char* kSsdGbField = "ssd_gb";
inline constexpr const char* kSsdRateField = "ssd_gb_s";

/// Says what of `host` cannot be, and what to do about it: "link_gb_s is ...". Nothing if it can,
/// or if there is none.
[[nodiscard]] std::optional<std::string> host_memory_problem_of(const HostMemory& host);

/// "300.0 GiB for each device at 25 GB/s, lru, 2.00 TiB of SSD at 3 GB/s; 8 devices have other
/// figures", if these are listed so. Empty if there is none.
[[nodiscard]] std::string host_memory_text(const HostMemory& host,
                                           std::span<const Device> listed = {});

}  // namespace neuroshard
