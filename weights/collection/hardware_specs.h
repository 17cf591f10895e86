#pragma once

#include <span>
#include <string_view>

namespace neuroshard {

/// What the analytic compute cost needs of a GPU. docs/analytic_costs.md gives each source.
struct GpuSpec {
  std::string_view name;
  double hbm_gb_per_s;  ///< Datasheet.
  double l2_bytes;      ///< Datasheet.
  double l2_gb_per_s;   ///< Bytes per clock of the architecture's white paper times boost clock.
};

/// What the analytic communication cost needs of a cluster of identical nodes.
/// Bandwidths are per GPU and direction, as on the datasheet.
struct NetworkSpec {
  std::string_view name;
  int gpus_per_node;
  double intra_gb_per_s;  ///< GPU to GPUs of its node.
  double inter_gb_per_s;  ///< GPU to GPUs of other nodes.
  /// All GPUs of a node together to those of other nodes; 0: no limit but theirs.
  double node_gb_per_s = 0.0;
};

/// The datasheets that built-in weights were trained on.
struct MachineSpec {
  std::string_view hardware;  ///< One of builtin_hardware().
  std::string_view gpu;
  std::string_view network;
};

[[nodiscard]] std::span<const GpuSpec> known_gpus();
[[nodiscard]] std::span<const NetworkSpec> known_networks();

/// By name, or by that of the hardware whose GPU or network it is: gpu_named("h100") is the GPU of
/// machine_of("h100"). Throw Error listing the known names.
[[nodiscard]] const GpuSpec& gpu_named(std::string_view name);
[[nodiscard]] const NetworkSpec& network_named(std::string_view name);
[[nodiscard]] const MachineSpec& machine_of(std::string_view hardware);

/// What a machine that nobody has named is taken for.
inline constexpr std::string_view kDefaultGpu = "a100-sxm-80gb";
inline constexpr std::string_view kDefaultNetwork = "a100-nvlink3-hdr";

}  // namespace neuroshard
