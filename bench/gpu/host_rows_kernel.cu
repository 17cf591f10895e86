#include <array>
#include <cstddef>
#include <cstring>

#include "bench/gpu/host_rows_kernel.h"
#include "bench/statistics.h"
#include "cuda/device/launch.h"
#include "neuroshard/error.h"

namespace neuroshard::bench {
namespace {

constexpr std::array kRowBytes = {64, 128, 256, 512, 1024, 2048};
constexpr std::size_t kTableBytes = std::size_t{4} << 30;
constexpr std::size_t kMovedBytes = std::size_t{256} << 20;
constexpr unsigned kThreads = 256;
constexpr unsigned kWarp = 32;
// Odd, so that the rows of a table, a power of two, come in an order without neighbours.
constexpr unsigned kScatter = 2654435761U;

/// Row `i` of those that are moved. Rows that come and rows that go are different ones.
__device__ __host__ inline std::size_t scattered_row(unsigned i, std::size_t rows) {
  return (static_cast<std::size_t>(i) * kScatter) % rows;
}

__global__ void __launch_bounds__(kThreads)
    move_rows_kernel(uint4* table, std::size_t rows, uint4* cache, unsigned moved, int vectors,
                     bool fetch, bool evict) {
  const unsigned warps = gridDim.x * (kThreads / kWarp);
  const unsigned lane = threadIdx.x % kWarp;
  for (unsigned i = blockIdx.x * (kThreads / kWarp) + threadIdx.x / kWarp; i < moved; i += warps) {
    uint4* const cached = cache + static_cast<std::size_t>(i) * vectors;
    uint4* const gone = table + scattered_row(i + moved, rows) * vectors;
    const uint4* const come = table + scattered_row(i, rows) * vectors;
    for (int v = static_cast<int>(lane); v < vectors; v += kWarp) {
      const uint4 old = cached[v];
      if (fetch) cached[v] = come[v];
      if (evict) gone[v] = old;
    }
  }
}

double gb_per_second(std::size_t bytes, const std::vector<double>& seconds) {
  return 1e-9 * static_cast<double>(bytes) / median(seconds);
}

}  // namespace

std::span<const int> host_row_bytes() { return kRowBytes; }

HostRowRates host_row_rates(int row_bytes, int repetitions, EventTimer& timer,
                            const gpu::Stream& stream) {
  const int vectors = row_bytes / static_cast<int>(sizeof(uint4));
  const std::size_t rows = kTableBytes / static_cast<std::size_t>(row_bytes);
  const auto moved = static_cast<unsigned>(kMovedBytes / static_cast<std::size_t>(row_bytes));
  gpu::PinnedBuffer table;
  table.reserve(kTableBytes);
  gpu::DeviceBuffer cache;
  cache.reserve(kMovedBytes);
  const auto fill = [&] {
    for (std::size_t row = 0; row < rows; ++row) {
      std::memcpy(table.host() + row * static_cast<std::size_t>(row_bytes), &row, sizeof(row));
    }
  };
  const auto run = [&](bool fetch, bool evict) {
    gpu::launch(move_rows_kernel, {2048, kThreads, 0}, stream.get(),
                reinterpret_cast<uint4*>(table.device()), rows,
                reinterpret_cast<uint4*>(cache.data()), moved, vectors, fetch, evict);
  };
  fill();
  run(true, false);
  std::vector<std::byte> came(kMovedBytes);
  stream.copy_to_host(came.data(), cache.data(), kMovedBytes);
  stream.synchronize();
  for (unsigned i = 0; i < moved; ++i) {
    std::size_t row = 0;
    std::memcpy(&row, came.data() + static_cast<std::size_t>(i) * row_bytes, sizeof(row));
    if (row != scattered_row(i, rows)) {
      throw Error("a row from the host has wrong values; nothing was timed", ErrorKind::kBackend);
    }
  }
  const auto rate = [&](bool fetch, bool evict) {
    std::vector<double> seconds;
    for (int i = 0; i < repetitions; ++i) {
      seconds.push_back(timer.seconds(stream, [&] { run(fetch, evict); }));
    }
    return gb_per_second(kMovedBytes, seconds);
  };
  HostRowRates rates{.row_bytes = row_bytes};
  rates.fetched = rate(true, false);
  rates.evicted = rate(false, true);
  rates.both = rate(true, true);
  return rates;
}

double host_copy_rate(int repetitions, EventTimer& timer, const gpu::Stream& stream) {
  gpu::PinnedBuffer host;
  host.reserve(kMovedBytes);
  gpu::DeviceBuffer device;
  device.reserve(kMovedBytes);
  std::vector<double> seconds;
  for (int i = 0; i < repetitions; ++i) {
    seconds.push_back(timer.seconds(
        stream, [&] { stream.copy_to_device(device.data(), host.host(), kMovedBytes); }));
  }
  return gb_per_second(kMovedBytes, seconds);
}

}  // namespace neuroshard::bench
