#include "bench/scoring/gpu_scorers.h"

#include <cuda_runtime.h>

#include <algorithm>

#include "bench/gpu/device_scorers.h"
#include "bench/gpu/event_timer.h"
#include "bench/gpu/fma_kernel.h"
#include "cuda/device/buffers.h"
#include "cuda/device/check.h"
#include "cuda/device/current_device.h"
#include "cuda/device/device_blas.h"
#include "neuroshard/cuda_backend.h"

namespace neuroshard::bench {
namespace {

std::optional<int> first_device() {
  for (const CudaDevice& device : cuda_devices()) {
    if (device.usable) return device.index;
  }
  return std::nullopt;
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string megahertz(cudaDeviceAttr attribute, int device) {
  int kilohertz = 0;
  NEUROSHARD_CUDA_CHECK(cudaDeviceGetAttribute(&kilohertz, attribute, device));
  return std::to_string(kilohertz / 1000) + " MHz";
}

}  // namespace

std::vector<ScorerKind> gpu_scorers(const CostModels& models) {
  const std::optional<int> device = first_device();
  if (!device) return {};
  const int width = (models.compute.table_network.outputs() + 7) / 8 * 8;
  return device_scorers(models, std::make_shared<const gpu::DeviceContext>(*device, models, width));
}

std::optional<double> gpu_multiply_adds_per_second() {
  const std::optional<int> device = first_device();
  if (!device) return std::nullopt;
  const gpu::CurrentDevice current(*device);
  int multiprocessors = 0;
  NEUROSHARD_CUDA_CHECK(
      cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, *device));
  const gpu::Stream stream;
  gpu::DeviceBuffer sink;
  sink.reserve(sizeof(float));
  EventTimer timer;
  // Some 10 ms a repetition on a H200: long beside a launch, and enough for the clock to settle.
  constexpr int kRounds = 20000;
  constexpr int kRepetitions = 10;
  double best = 0.0;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    const double seconds = timer.seconds(stream, [&] {
      run_gpu_multiply_adds(multiprocessors, kRounds, reinterpret_cast<float*>(sink.data()),
                            stream.get());
    });
    best = std::max(best, gpu_multiply_adds(multiprocessors, kRounds) / seconds);
  }
  return best;
}

Context gpu_context() {
  const std::optional<int> device = first_device();
  if (!device) return {};
  int driver = 0;
  int runtime = 0;
  NEUROSHARD_CUDA_CHECK(cudaDriverGetVersion(&driver));
  NEUROSHARD_CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
  return {{"gpu_driver", "CUDA " + version_text(driver)},
          {"gpu_runtime", "CUDA " + version_text(runtime)},
          {"gpu_highest_clock", megahertz(cudaDevAttrClockRate, *device)},
          {"gpu_memory_clock", megahertz(cudaDevAttrMemoryClockRate, *device)},
          {"cublas", gpu::cublas_description()}};
}

}  // namespace neuroshard::bench
