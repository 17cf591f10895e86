#include "tools/compute_sources.h"

#include "neuroshard/error.h"

namespace neuroshard::tools {

ComputeSources make_compute_sources(const ComputeSourceOptions& options,
                                    std::span<const Table> tables) {
  ComputeSources made;
  if (options.backend == "analytic") {
    const GpuSpec& gpu = gpu_named(options.gpu);
    made.hardware = gpu.name;
    made.sources.push_back(make_analytic_compute_source(gpu, tables, options.batch));
    return made;
  }
  throw Error("--backend '" + options.backend + "' is not known; give analytic");
}

}  // namespace neuroshard::tools
