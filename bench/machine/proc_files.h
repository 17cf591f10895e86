#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace neuroshard::bench {

/// Contents of a file such as /proc/cpuinfo; empty if there is none.
[[nodiscard]] std::string contents_if_readable(const std::string& path);

/// Text that follows "key :" on the first line of `text` that starts with `key`; empty if none
/// does.
[[nodiscard]] std::string field_of(std::string_view text, std::string_view key);

/// VmHWM of the text of /proc/PID/status: the most memory that the process ever had resident.
[[nodiscard]] std::optional<std::int64_t> peak_resident_bytes(std::string_view proc_status);
/// Most resident memory of this process; empty where there is no /proc.
[[nodiscard]] std::optional<std::int64_t> peak_resident_bytes();

/// A CPU's frequency is not a constant: lowest and highest "cpu MHz" in the text of /proc/cpuinfo,
/// "2595-3421 MHz", or "2595 MHz". Empty if it has none.
[[nodiscard]] std::string clocks_of(std::string_view cpuinfo);

/// The instruction sets among a CPU's flags that matter for dense arithmetic, in this order.
[[nodiscard]] std::string arithmetic_flags(std::string_view flags);

}  // namespace neuroshard::bench
