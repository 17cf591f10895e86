#include "cuda/operators/cuda_source.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "core/tables/access_statistics.h"
#include "cuda/device/check.h"
#include "cuda/device/current_device.h"
#include "cuda/device/device_streams.h"
#include "cuda/operators/cuda_operator.h"
#include "cuda/operators/fill_random.h"
#include "neuroshard/cuda_backend.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

using namespace gpu;

std::string in_gib(std::size_t bytes) {
  const std::string text =
      std::to_string(std::round(gib_from_bytes(static_cast<std::int64_t>(bytes)) * 100.0) / 100.0);
  return text.substr(0, text.find('.') + 3) + " GiB";
}

std::size_t l2_bytes(int device) {
  int bytes = 0;
  NEUROSHARD_CUDA_CHECK(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device));
  return static_cast<std::size_t>(bytes);
}

std::size_t free_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  NEUROSHARD_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return free;
}

float* floats(const DeviceBuffer& buffer) { return reinterpret_cast<float*>(buffer.data()); }

// Memory that depends on the sample. It only ever grows, and is made anew to give memory back.
struct SampleMemory {
  SampleMemory(const Stream& stream, StreamStore& store, std::size_t max_stream_bytes)
      : streams(store, max_stream_bytes), fused(stream) {}

  DeviceStreams streams;
  CudaOperator fused;
  DeviceBuffer output;
  DeviceBuffer gradient;
};

// All of it on one device, which is current while this is made and used.
struct DeviceMemory {
  Stream stream;
  Event start;
  Event pooled;
  Event end;
  DeviceBuffer weights;
  DeviceBuffer flush;
  std::unique_ptr<SampleMemory> sample;
};

class CudaSourceOnDevice : public CudaSource {
 public:
  CudaSourceOnDevice(std::span<const Table> tables, StreamStore& streams, std::size_t base_tables,
                     int device, const CudaSourceOptions& options)
      : tables_(tables),
        streams_(streams),
        base_tables_(base_tables),
        device_(device),
        protocol_(options.protocol) {
    const CurrentDevice current(device_);
    memory_ = std::make_unique<DeviceMemory>();
    const auto weights = static_cast<std::size_t>(options.memory_bytes);
    const std::size_t flush = 2 * l2_bytes(device_);
    const std::size_t free = free_bytes();
    if (weights + flush > free) {
      throw Error(name() + in_gib(weights) + " of weights do not fit, " + in_gib(free) +
                      " are free; give a lower --memory-gb",
                  ErrorKind::kBackend);
    }
    memory_->weights.reserve(weights);
    fill_random(floats(memory_->weights), weights / sizeof(float), 0.01F, memory_->stream.get());
    memory_->flush.reserve(flush);
    memory_->stream.synchronize();
    max_stream_bytes_ = free_bytes() / 2;
    renew_sample_memory();
  }

  double cost_ms(std::span<const int> ids) override {
    const CurrentDevice current(device_);
    OperatorShard shard = place_weights(ids);
    try {
      set_up(ids, shard);
    } catch (const Error&) {
      // Memory in pieces, or what earlier samples grew to: once more from the start.
      renew_sample_memory();
      try {
        set_up(ids, shard);
      } catch (const Error&) {
        renew_sample_memory();
        require_memory(ids, shard);
        throw;
      }
    }
    return measure(ids, shard);
  }

  [[nodiscard]] OperatorTraffic traffic() const override { return traffic_; }

  double copy_gb_per_s() override {
    const CurrentDevice current(device_);
    constexpr std::size_t kMost = std::size_t{1} << 30;
    const std::size_t bytes = std::min(kMost, memory_->weights.bytes() / 2 / 16 * 16);
    const double ms = median_ms(
        protocol_, [&] { overwrite_l2(); },
        [&] {
          memory_->start.record(memory_->stream);
          NEUROSHARD_CUDA_CHECK(cudaMemcpyAsync(memory_->weights.data() + bytes,
                                                memory_->weights.data(), bytes,
                                                cudaMemcpyDeviceToDevice, memory_->stream.get()));
          memory_->end.record(memory_->stream);
          memory_->stream.synchronize();
          return memory_->end.ms_since(memory_->start);
        });
    return 2.0 * static_cast<double>(bytes) / ms * 1e-6;
  }

 private:
  [[nodiscard]] std::string name() const {
    return "cuda backend: device " + std::to_string(device_) + ": ";
  }

  void renew_sample_memory() {
    memory_->sample.reset();
    memory_->sample = std::make_unique<SampleMemory>(memory_->stream, streams_, max_stream_bytes_);
  }

  [[nodiscard]] OperatorShard place_weights(std::span<const int> ids) const {
    OperatorShard shard;
    shard.batch = streams_.batch();
    std::size_t first = 0;
    const std::size_t floats_in_all = memory_->weights.bytes() / sizeof(float);
    for (const int id : ids) {
      const Table& table = tables_[id];
      const auto count = static_cast<std::size_t>(table.rows * table.dim);
      if (count > floats_in_all - first) {
        throw Error("the tables of a sample need more than the " +
                    in_gib(memory_->weights.bytes()) + " set apart for weights; raise --memory-gb");
      }
      shard.tables.push_back(
          {floats(memory_->weights) + first, table.rows, table.dim, nullptr, nullptr});
      first += count;
    }
    return shard;
  }

  [[nodiscard]] std::size_t base_table(int id) const {
    return static_cast<std::size_t>(id) % base_tables_;
  }
  [[nodiscard]] static std::size_t activation_bytes(const OperatorShard& shard) {
    return static_cast<std::size_t>(shard.batch * shard.dim_sum()) * sizeof(float);
  }

  // Copies lookups to the device unless they are there, and readies memory and operator.
  void set_up(std::span<const int> ids, OperatorShard& shard) {
    SampleMemory& sample = *memory_->sample;
    sample.streams.begin_sample();
    lookups_.clear();
    for (std::size_t t = 0; t < ids.size(); ++t) {
      const auto lookups = sample.streams.get(base_table(ids[t]), memory_->stream);
      shard.tables[t].indices = lookups.indices;
      shard.tables[t].offsets = lookups.offsets;
      lookups_.push_back(lookups.count);
    }
    const std::size_t activations = activation_bytes(shard);
    if (activations > sample.gradient.bytes()) {
      sample.output.reserve(activations);
      sample.gradient.reserve(activations);
      fill_random(floats(sample.gradient), sample.gradient.bytes() / sizeof(float), 1.0F,
                  memory_->stream.get());
    }
    sample.fused.set_shard(shard, lookups_);
  }

  // Throws Error with what the sample needs if the device has less.
  void require_memory(std::span<const int> ids, const OperatorShard& shard) {
    std::size_t needed = 2 * activation_bytes(shard);
    lookups_.clear();
    std::set<std::size_t> counted;  // A sample may have a table several times.
    for (const int id : ids) {
      const auto stream = streams_.stream(base_table(id));
      lookups_.push_back(static_cast<std::int64_t>(stream->indices.size()));
      if (!counted.insert(base_table(id)).second) continue;
      needed += (stream->indices.size() + stream->offsets.size()) * sizeof(std::int64_t);
    }
    needed += CudaOperator::bytes_for(shard, lookups_);
    const std::size_t free = free_bytes();
    if (needed <= free) return;
    throw Error(name() + "a sample of " + std::to_string(ids.size()) + " tables needs " +
                    in_gib(needed) + " beside the weights, " + in_gib(free) +
                    " are free; free device memory, or start a new folder with a lower "
                    "--max-tables, --memory-gb or --batch",
                ErrorKind::kBackend);
  }

  void overwrite_l2() {
    NEUROSHARD_CUDA_CHECK(cudaMemsetAsync(memory_->flush.data(), ++flushes_, memory_->flush.bytes(),
                                          memory_->stream.get()));
  }

  double measure(std::span<const int> ids, const OperatorShard& shard) {
    const SampleMemory& sample = *memory_->sample;
    const OperatorTraffic once = bytes_of_run(ids, shard);
    int run = 0;
    return median_ms(
        protocol_, [&] { overwrite_l2(); },
        [&] {
          memory_->start.record(memory_->stream);
          sample.fused.forward(floats(sample.output));
          memory_->pooled.record(memory_->stream);
          sample.fused.backward(floats(sample.gradient), kMeasuredLearningRate);
          memory_->end.record(memory_->stream);
          memory_->stream.synchronize();
          if (run++ >= protocol_.warm_up) {
            traffic_ += once;
            traffic_.forward_ms += memory_->pooled.ms_since(memory_->start);
            traffic_.backward_ms += memory_->end.ms_since(memory_->pooled);
          }
          return memory_->end.ms_since(memory_->start);
        });
  }

  [[nodiscard]] OperatorTraffic bytes_of_run(std::span<const int> ids,
                                             const OperatorShard& shard) const {
    constexpr double kIndex = sizeof(std::int64_t);
    constexpr double kPair = 2 * sizeof(std::uint32_t);
    std::int64_t rows = 0;
    for (const OperatorTable& table : shard.tables) rows += table.rows;
    const double passes = std::ceil(std::max(1.0, std::log2(static_cast<double>(rows))) / 8.0);
    const auto batch = static_cast<double>(shard.batch);
    OperatorTraffic traffic;
    for (std::size_t t = 0; t < ids.size(); ++t) {
      const auto lookups = static_cast<double>(lookups_[t]);
      const double row_bytes = 4.0 * shard.tables[t].dim;
      const double distinct = access_profile(tables_[ids[t]], shard.batch).distinct_rows;
      traffic.forward_bytes += lookups * (kIndex + row_bytes) + batch * (kIndex + row_bytes);
      traffic.backward_bytes += batch * kIndex + lookups * (kIndex + kPair) +
                                lookups * (kPair / 2 + passes * 2.0 * kPair) +
                                lookups * (kPair + row_bytes) + distinct * 2.0 * row_bytes;
    }
    return traffic;
  }

  std::span<const Table> tables_;
  StreamStore& streams_;
  std::size_t base_tables_;
  int device_;
  MeasurementProtocol protocol_;
  std::size_t max_stream_bytes_ = 0;
  std::unique_ptr<DeviceMemory> memory_;
  std::vector<std::int64_t> lookups_;
  OperatorTraffic traffic_;
  unsigned char flushes_ = 0;
};

}  // namespace

std::unique_ptr<CudaSource> make_cuda_source(std::span<const Table> tables, StreamStore& streams,
                                             std::size_t base_tables, int device,
                                             const CudaSourceOptions& options) {
  return std::make_unique<CudaSourceOnDevice>(tables, streams, base_tables, device, options);
}

std::vector<int> devices_to_measure(std::span<const int> wanted) {
  std::vector<int> chosen;
  std::string first_name;
  for (const CudaDevice& device : cuda_devices()) {
    const bool asked = std::find(wanted.begin(), wanted.end(), device.index) != wanted.end();
    if (!device.usable || (!wanted.empty() && !asked)) continue;
    if (chosen.empty()) first_name = device.name;
    if (device.name != first_name) {
      throw Error("device " + std::to_string(device.index) + " is a " + device.name + ", not a " +
                      first_name +
                      " like the first; their costs differ: give those of one kind with --devices",
                  ErrorKind::kBackend);
    }
    chosen.push_back(device.index);
  }
  for (const int device : wanted) {
    if (std::find(chosen.begin(), chosen.end(), device) != chosen.end()) continue;
    throw Error("--devices names device " + std::to_string(device) +
                    ", which is not there or too old; see nvidia-smi and CUDA_VISIBLE_DEVICES",
                ErrorKind::kBackend);
  }
  if (chosen.empty()) {
    throw Error(
        "no CUDA device can be used; check nvidia-smi and CUDA_VISIBLE_DEVICES, or collect "
        "with --backend cpu or analytic",
        ErrorKind::kBackend);
  }
  return chosen;
}

}  // namespace neuroshard
