#pragma once

#include <span>
#include <string>
#include <string_view>

#include "neuroshard/node_links.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// A GPU, as the analytic compute cost needs it. docs/analytic_sources.md gives each source.
struct GpuSpec {
  std::string name;
  double hbm_gb_per_s = 0.0;  ///< Datasheet.
  double l2_bytes = 0.0;      ///< Datasheet.
  int multiprocessors = 0;    ///< Datasheet; compute units on AMD's.
  double clock_ghz = 0.0;     ///< Datasheet: the highest.

  friend bool operator==(const GpuSpec&, const GpuSpec&) = default;
};

/// A cluster of identical nodes, as the analytic communication cost needs it, by datasheets.
struct NetworkSpec {
  std::string name;
  int gpus_per_node = 0;
  NodeLinks links{};  ///< Stated in full, but for what is no limit.

  [[nodiscard]] NodeNetwork nodes() const { return {gpus_per_node, links}; }
  friend bool operator==(const NetworkSpec&, const NetworkSpec&) = default;
};

/// A GPU in nodes. Built-in weights are of one.
struct Hardware {
  std::string name;
  GpuSpec gpu;
  NetworkSpec network;

  friend bool operator==(const Hardware&, const Hardware&) = default;
};

inline constexpr double kLeastMemoryGbPerSecond = 1.0;
inline constexpr double kMostMemoryGbPerSecond = 1e6;
inline constexpr double kLeastL2Mib = 1.0 / 1024.0;
inline constexpr double kMostL2Mib = 1e6;

inline constexpr int kMostMultiprocessors = 100'000;
inline constexpr double kLeastClockGhz = 0.01;
inline constexpr double kMostClockGhz = 100.0;

[[nodiscard]] std::span<const GpuSpec> known_gpus();
[[nodiscard]] std::span<const NetworkSpec> known_networks();
[[nodiscard]] std::span<const Hardware> known_hardware();
/// "a100, h100, ...", for messages.
[[nodiscard]] std::string known_hardware_names();

/// These find by name, or by that of the hardware whose GPU or network it is: gpu_named("h100") is
/// the GPU of hardware_named("h100"). They throw Error listing the known names.
[[nodiscard]] const GpuSpec& gpu_named(std::string_view name);
[[nodiscard]] const NetworkSpec& network_named(std::string_view name);
[[nodiscard]] const Hardware& hardware_named(std::string_view name);

/// A datasheet of one's own may have no name.
inline constexpr std::string_view kUnnamedHardware = "datasheet";

/// Makes hardware from the numbers that a datasheet states. `where` opens messages. Throws Error as
/// validate() does.
[[nodiscard]] Hardware stated_hardware(const std::string& name, double memory_gb_s, double l2_mib,
                                       int multiprocessors, double clock_ghz,
                                       const NodeNetwork& nodes, const std::string& where);

/// Parses a name, or a JSON object that states a datasheet (docs/task_format.md). `where` opens
/// messages. Throws Error.
[[nodiscard]] Hardware parse_hardware(std::string_view text, const std::string& where);

/// Throws Error naming the field unless the numbers are those of some hardware, and the name is its
/// own.
void validate(const Hardware& hardware, const std::string& where = "");

/// A machine that nobody has named is taken for this one.
inline constexpr std::string_view kDefaultHardware = "a100";
inline constexpr std::string_view kDefaultGpu = "a100-sxm-80gb";
inline constexpr std::string_view kDefaultNetwork = "a100-nvlink3-hdr";

}  // namespace neuroshard
#pragma GCC visibility pop
