#include "tools/collecting/compute_sources.h"

#include <unistd.h>

#include "core/tables/table_label.h"
#include "neuroshard/cuda_backend.h"
#include "neuroshard/error.h"
#include "weights/collection/cpu_source.h"

namespace neuroshard::tools {
namespace {

// Lookups are kept in a quarter of the machine's memory.
std::size_t room_for_streams() {
  return static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) / 4 *
         static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

void require_fp32(std::span<const Table> tables) {
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const WeightType type = tables[t].memory.weight_type;
    if (type == WeightType::kFp32) continue;
    throw Error(label_of(tables[t], t) + ": weight_type is " + std::string(name_of(type)) +
                "; the measured operator is of fp32: collect costs of such tables");
  }
}

}  // namespace

ComputeSources make_compute_sources(const ComputeSourceOptions& options,
                                    std::span<const Table> tables,
                                    std::span<const Table> augmented) {
  ComputeSources made;
  if (options.backend == "analytic") {
    const GpuSpec& gpu = gpu_named(options.gpu);
    made.hardware = gpu.name;
    made.sources.push_back(make_analytic_compute_source(gpu, augmented, options.batch));
    return made;
  }
  require_fp32(tables);
  std::vector<int> devices;
  if (options.backend == "cuda") devices = devices_to_measure(options.devices);
  made.streams =
      options.accesses
          ? std::make_unique<StreamStore>(tables, *options.accesses, room_for_streams())
          : std::make_unique<StreamStore>(tables, options.batch, options.seed, room_for_streams());
  if (options.backend == "cpu") {
    const CpuSourceOptions cpu{options.protocol, options.memory_bytes, options.threads};
    made.sources.push_back(make_cpu_source(augmented, *made.streams, tables.size(), cpu));
    made.hardware = cpu_name();
    return made;
  }
  if (options.backend == "cuda") {
    for (const int device : devices) {
      auto source = make_cuda_source(augmented, *made.streams, tables.size(), device,
                                     {options.protocol, options.memory_bytes});
      made.cuda.push_back(source.get());
      made.sources.push_back(std::move(source));
    }
    for (const CudaDevice& device : cuda_devices()) {
      if (device.index == devices.front()) made.hardware = device.name;
    }
    return made;
  }
  throw Error("--backend '" + options.backend + "' is not known; give analytic, cpu or cuda");
}

}  // namespace neuroshard::tools
