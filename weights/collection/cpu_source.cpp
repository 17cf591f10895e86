#include "weights/collection/cpu_source.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <new>

#include "neuroshard/aligned_vector.h"
#include "neuroshard/error.h"
#include "weights/collection/cache_flush.h"
#include "weights/collection/cpu_operator.h"

namespace neuroshard {
namespace {

class CpuSource : public ComputeCostSource {
 public:
  CpuSource(std::span<const Table> tables, StreamStore& streams, std::size_t base_tables,
            const CpuSourceOptions& options)
      : tables_(tables),
        streams_(streams),
        base_tables_(base_tables),
        protocol_(options.protocol),
        team_(options.threads),
        operator_(team_, pooling_kernels()),
        flush_(team_) {
    for (const Table& table : tables) {
      if (table.rows < (std::int64_t{1} << 32)) continue;
      throw Error("a table has " + std::to_string(table.rows) +
                  " rows; the measured operator takes fewer than 2^32");
    }
    try {
      weights_.resize(static_cast<std::size_t>(options.memory_bytes) / sizeof(float));
    } catch (const std::bad_alloc&) {
      throw Error("no memory for " + std::to_string(options.memory_bytes) +
                  " bytes of weights; lower --memory-gb");
    }
    fill(weights_, 0.01F);
  }

  double cost_ms(std::span<const int> ids) override {
    std::vector<std::shared_ptr<const AccessStream>> used;  // Keeps the lookups alive.
    OperatorShard shard;
    shard.batch = streams_.batch();
    std::size_t first_weight = 0;
    for (const int id : ids) {
      const Table& table = tables_[id];
      const auto count = static_cast<std::size_t>(table.rows * table.dim);
      if (count > weights_.size() - first_weight) {
        throw Error("the tables of a sample need more than the " +
                    std::to_string(weights_.size() * sizeof(float)) +
                    " bytes set apart for weights; raise --memory-gb");
      }
      used.push_back(streams_.stream(static_cast<std::size_t>(id) % base_tables_));
      shard.tables.push_back({&weights_[first_weight], table.rows, table.dim,
                              used.back()->indices.data(), used.back()->offsets.data()});
      first_weight += count;
    }
    const auto activations = static_cast<std::size_t>(shard.batch * shard.dim_sum());
    if (gradient_.size() < activations) {
      output_.resize(activations);
      gradient_.resize(activations);
      fill(gradient_, 1.0F);
    }
    return median_ms(
        protocol_, [&] { flush_(); },
        [&] {
          using Clock = std::chrono::steady_clock;
          const Clock::time_point start = Clock::now();
          operator_.forward(shard, output_.data());
          operator_.backward(shard, gradient_.data(), kMeasuredLearningRate);
          return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
        });
  }

 private:
  static constexpr std::size_t kChunk = std::size_t{1} << 18;

  // Numbers in (-scale, scale), none so small that sums of them get slow.
  void fill(AlignedVector<float>& values, float scale) {
    team_.run((values.size() + kChunk - 1) / kChunk, [&](std::size_t task, std::size_t) {
      Random random(task);
      const std::size_t last = std::min(values.size(), (task + 1) * kChunk);
      for (std::size_t i = task * kChunk; i < last; ++i) {
        values[i] = scale * (static_cast<float>(random.uniform()) - 0.5F);
      }
    });
  }

  std::span<const Table> tables_;
  StreamStore& streams_;
  std::size_t base_tables_;
  MeasurementProtocol protocol_;
  ThreadTeam team_;
  CpuOperator operator_;
  CacheFlush flush_;
  AlignedVector<float> weights_;
  AlignedVector<float> output_;
  AlignedVector<float> gradient_;
};

}  // namespace

std::unique_ptr<ComputeCostSource> make_cpu_source(std::span<const Table> tables,
                                                   StreamStore& streams, std::size_t base_tables,
                                                   const CpuSourceOptions& options) {
  return std::make_unique<CpuSource>(tables, streams, base_tables, options);
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "CPU of unknown model";
}

}  // namespace neuroshard
