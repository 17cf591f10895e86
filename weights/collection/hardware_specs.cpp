#include "weights/collection/hardware_specs.h"

#include <algorithm>
#include <string>

#include "neuroshard/error.h"

namespace neuroshard {
namespace {

constexpr double kMib = 1048576.0;

constexpr GpuSpec kGpus[] = {
    {"v100-sxm2-32gb", 900.0, 6.0 * kMib, 2048.0 * 1.530},
    {"a100-sxm-80gb", 2039.0, 40.0 * kMib, 5120.0 * 1.410},
    // NVIDIA publishes no L2 bandwidth for Hopper; taken as A100's bytes per clock.
    {"h100-sxm-80gb", 3350.0, 50.0 * kMib, 5120.0 * 1.980},
    {"h200-sxm-141gb", 4800.0, 50.0 * kMib, 5120.0 * 1.980},
};

constexpr NetworkSpec kNetworks[] = {
    {"pcie4-edr", 8, 31.5, 12.5},
    {"v100-nvlink2-edr", 8, 150.0, 12.5},
    {"a100-nvlink3-hdr", 8, 300.0, 25.0},
    {"h100-nvlink4-ndr", 8, 450.0, 50.0},  // H200 has the same links.
};

constexpr MachineSpec kMachines[] = {
    {"a100", kDefaultGpu, kDefaultNetwork},
    {"h100", "h100-sxm-80gb", "h100-nvlink4-ndr"},
    {"h200", "h200-sxm-141gb", "h100-nvlink4-ndr"},
};

std::string_view name_of(const MachineSpec& machine) { return machine.hardware; }
template <typename Spec>
std::string_view name_of(const Spec& spec) {
  return spec.name;
}

template <typename Spec>
std::string names_of(std::span<const Spec> specs) {
  std::string names;
  for (const Spec& spec : specs) names.append(names.empty() ? "" : ", ").append(name_of(spec));
  return names;
}

template <typename Spec>
const Spec* find(std::span<const Spec> specs, std::string_view name) {
  const auto found = std::ranges::find(specs, name, [](const Spec& spec) { return name_of(spec); });
  return found == specs.end() ? nullptr : &*found;
}

constexpr std::span<const MachineSpec> machines() { return kMachines; }

// By a name of its own, or by that of a machine, whose `part` it is then.
template <typename Spec>
const Spec& part_named(std::string_view name, std::span<const Spec> specs,
                       std::string_view MachineSpec::*part, const char* kind) {
  const MachineSpec* machine = find(machines(), name);
  if (const Spec* spec = find(specs, machine != nullptr ? machine->*part : name)) return *spec;
  throw Error("no data for " + std::string(kind) + " '" + std::string(name) + "'; known are " +
              names_of(specs) + ", and those of " + names_of(machines()));
}

}  // namespace

std::span<const GpuSpec> known_gpus() { return kGpus; }
std::span<const NetworkSpec> known_networks() { return kNetworks; }

const GpuSpec& gpu_named(std::string_view name) {
  return part_named(name, known_gpus(), &MachineSpec::gpu, "GPU");
}
const NetworkSpec& network_named(std::string_view name) {
  return part_named(name, known_networks(), &MachineSpec::network, "network");
}
const MachineSpec& machine_of(std::string_view hardware) {
  if (const MachineSpec* machine = find(machines(), hardware)) return *machine;
  throw Error("no data for hardware '" + std::string(hardware) + "'; known are " +
              names_of(machines()));
}

}  // namespace neuroshard
