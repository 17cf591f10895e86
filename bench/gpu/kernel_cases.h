#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/inputs/task_sets.h"
#include "cuda/backend/device_context.h"

namespace neuroshard::bench {

using SharedContext = std::shared_ptr<const gpu::DeviceContext>;

/// One kernel on one input, which is in device memory.
struct KernelCase {
  std::string kernel;          ///< "score_shards, cuda_gemm"
  std::string input;           ///< "1,048,576 shards of 16"
  double items = 0.0;          ///< Items of a launch: shards, pieces, rows, placements.
  double multiply_adds = 0.0;  ///< In a launch, by the networks, in fp32.
  /// Throws Error (kBackend) if the results are not the CPU's.
  std::function<void()> check;
  /// Launches once; seconds on the device, by CUDA events.
  std::function<double()> run;
};

struct KernelSizes {
  std::vector<std::size_t> shards = {1024, 65536, 1048576};
  std::vector<std::size_t> pieces = {150, 16384};
  std::vector<std::size_t> placements = {64, 16384};
  std::vector<std::string> task_sets = {"2gpu_dim128", "4gpu_dim128", "8gpu_dim128",
                                        "16gpu_dim128"};
  std::size_t tasks = 64;           ///< Tasks of each set, besides one alone.
  std::size_t large_tables = 1000;  ///< Number of published ones on 128 devices.
  std::string only = {};            ///< Only kernels whose names have this text.

  [[nodiscard]] bool wants(const std::string& kernel) const {
    return kernel.find(only) != std::string::npos;
  }
};

/// All kernels (of `sizes.only`), each on inputs of these sizes. `models` serve 128 devices too,
/// and outlive the cases.
[[nodiscard]] std::vector<KernelCase> kernel_cases(const CostModels& models,
                                                   const GoldenFolder& data,
                                                   const SharedContext& context,
                                                   const KernelSizes& sizes = {});

/// Multiply-adds for the costs of one placement.
[[nodiscard]] double comm_multiply_adds(const CommNetwork& network, int devices);

}  // namespace neuroshard::bench
