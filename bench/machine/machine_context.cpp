#include "bench/machine/machine_context.h"

#include <array>
#include <ctime>
#include <thread>

#include "bench/machine/clock_rate.h"
#include "bench/machine/proc_files.h"
#include "bench/markdown_table.h"
#include "bench/scoring/gpu_scorers.h"
#include "bench/scoring/scorer.h"
#include "build_info.h"
#include "neuroshard/cuda_backend.h"

namespace neuroshard::bench {
namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#elif defined(__GNUC__)
  return "gcc " __VERSION__;
#else
  return "unknown";
#endif
}

std::string build_flags() {
  std::string flags = build_info::kBuildType;
  for (const char* part : {build_info::kCompilerFlags, build_info::kSanitizers}) {
    if (*part != '\0') flags += std::string(" ") + part;
  }
#ifndef NDEBUG
  flags += " (assertions on)";
#endif
  return flags;
}

std::string measured_clock() {
  const double ghz = measured_clock_ghz();
  return ghz > 0.0 ? three_digits(ghz) + " GHz" : "";
}

std::string memory_total() {
  const std::string kib = field_of(contents_if_readable("/proc/meminfo"), "MemTotal");
  return kib.empty() ? "" : std::to_string(std::stoll(kib) / 1024) + " MiB";
}

void add_gpus(Context& context) {
  if (!cuda_backend_built()) {
    context.emplace_back("gpu", "none (built without the CUDA backend)");
    return;
  }
  const std::vector<CudaDevice> devices = cuda_devices();
  if (devices.empty()) context.emplace_back("gpu", "none");
  for (const CudaDevice& device : devices) {
    context.emplace_back("gpu", device.name + ", sm_" + std::to_string(device.compute_capability) +
                                    ", " + std::to_string(device.multiprocessors) +
                                    " multiprocessors, " +
                                    std::to_string(device.memory_bytes >> 20) + " MiB" +
                                    (device.usable ? "" : " (not usable)"));
  }
  for (const auto& [key, value] : gpu_context()) context.emplace_back(key, value);
}

}  // namespace

Context machine_context() {
  const std::string cpuinfo = contents_if_readable("/proc/cpuinfo");
  Context context = {{"time", utc_now()},
                     {"commit", build_info::kCommit},
                     {"compiler", compiler()},
                     {"build", build_flags()},
                     {"cpu", field_of(cpuinfo, "model name")},
                     {"cpu_cores", std::to_string(std::thread::hardware_concurrency())},
                     {"cpu_flags", arithmetic_flags(field_of(cpuinfo, "flags"))},
                     {"cpu_clocks", clocks_of(cpuinfo)},
                     {"cpu_clock_measured", measured_clock()},
                     {"memory", memory_total()},
                     {"load", contents_if_readable("/proc/loadavg")},
                     {"openblas", openblas_description()}};
  std::erase_if(context, [](const auto& entry) { return entry.second.empty(); });
  for (auto& [key, value] : context) {
    if (value.ends_with('\n')) value.pop_back();
  }
  add_gpus(context);
  return context;
}

std::string context_block(const Context& context) {
  std::string text;
  for (const auto& [key, value] : context) {
    text.append("# ").append(key).append(": ").append(value).append("\n");
  }
  return text;
}

}  // namespace neuroshard::bench
