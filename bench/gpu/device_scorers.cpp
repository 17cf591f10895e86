#include "bench/gpu/device_scorers.h"

#include <limits>

#include "bench/gpu/blas_head.h"
#include "bench/gpu/event_timer.h"
#include "cuda/device/current_device.h"
#include "cuda/networks/score_shards.h"
#include "cuda/placement/place_candidates.h"

namespace neuroshard::bench {
namespace {

using SharedContext = std::shared_ptr<const gpu::DeviceContext>;

const std::byte* bytes_of(const auto& values) {
  return reinterpret_cast<const std::byte*>(values.data());
}

// Inputs and outputs in device memory, and the time of what a derived class does with them.
class DeviceScorer : public Scorer {
 public:
  DeviceScorer(SharedContext context, const ScoringInput& input)
      : context_(std::move(context)), input_(input), current_(context_->device()) {
    embeddings_.reserve(input.embeddings.size() * sizeof(float));
    stream_.copy_to_device(embeddings_.data(), bytes_of(input.embeddings),
                           input.embeddings.size() * sizeof(float));
    stream_.synchronize();
  }

  void prepare(const ShardBatch& batch) override {
    offsets_.reserve(batch.offsets.size_bytes());
    ids_.reserve(batch.piece_ids.size_bytes());
    costs_.reserve(batch.size() * sizeof(float));
    stream_.copy_to_device(offsets_.data(), bytes_of(batch.offsets), batch.offsets.size_bytes());
    stream_.copy_to_device(ids_.data(), bytes_of(batch.piece_ids), batch.piece_ids.size_bytes());
    stream_.synchronize();
    shards_ = {.embeddings = reinterpret_cast<const float*>(embeddings_.data()),
               .width = input_.embedding_width,
               .offsets = reinterpret_cast<const std::uint32_t*>(offsets_.data()),
               .piece_ids = reinterpret_cast<const std::uint32_t*>(ids_.data()),
               .shards = static_cast<int>(batch.size())};
  }

  void score() override {
    seconds_ = timer_.seconds(
        stream_, [&] { queue(shards_, reinterpret_cast<float*>(costs_.data()), stream_.get()); });
  }

  [[nodiscard]] double device_seconds() const override { return seconds_; }

  void read_costs(std::span<float> cost_ms) override {
    stream_.copy_to_host(reinterpret_cast<std::byte*>(cost_ms.data()), costs_.data(),
                         cost_ms.size_bytes());
    stream_.synchronize();
  }

 protected:
  [[nodiscard]] const gpu::DeviceContext& context() const { return *context_; }
  [[nodiscard]] cudaStream_t stream() const { return stream_.get(); }
  [[nodiscard]] int pieces() const {
    return static_cast<int>(input_.embeddings.size()) / input_.embedding_width;
  }

 private:
  virtual void queue(const DeviceShards& shards, float* cost_ms, cudaStream_t stream) = 0;

  SharedContext context_;
  const ScoringInput& input_;
  gpu::CurrentDevice current_;
  gpu::Stream stream_;
  EventTimer timer_;
  gpu::DeviceBuffer embeddings_;
  gpu::DeviceBuffer offsets_;
  gpu::DeviceBuffer ids_;
  gpu::DeviceBuffer costs_;
  DeviceShards shards_;
  double seconds_ = 0.0;
};

enum class Kernel { kChosen, kPerWarp, kGemm };

class KernelScorer final : public DeviceScorer {
 public:
  KernelScorer(SharedContext context, const ScoringInput& input, Kernel kernel)
      : DeviceScorer(std::move(context), input), kernel_(kernel) {}

 private:
  void queue(const DeviceShards& shards, float* cost_ms, cudaStream_t stream) override {
    const gpu::ScoreArgs args{.head = context().models().head(),
                              .embeddings = shards.embeddings,
                              .pieces = pieces(),
                              .width = shards.width,
                              .offsets = shards.offsets,
                              .piece_ids = shards.piece_ids,
                              .shards = shards.shards,
                              .cost_ms = cost_ms};
    const int multiprocessors = context().multiprocessors();
    const std::size_t shared_bytes = context().shared_bytes();
    switch (kernel_) {
      case Kernel::kChosen:
        if (gpu::is_large_batch(args, multiprocessors, shared_bytes)) {
          return gpu::score_shards_gemm(args, multiprocessors, shared_bytes, stream);
        }
        [[fallthrough]];
      case Kernel::kPerWarp:
        return gpu::score_shards(args, multiprocessors, stream);
      case Kernel::kGemm:
        return gpu::score_shards_gemm(args, multiprocessors, shared_bytes, stream);
    }
  }

  Kernel kernel_;
};

class BlasScorer final : public DeviceScorer {
 public:
  BlasScorer(SharedContext context, const ScoringInput& input, const Mlp& head, int rows_at_once)
      : DeviceScorer(std::move(context), input),
        blas_(gpu::make_cublas(stream())),
        model_(head),
        rows_at_once_(rows_at_once) {}

  void prepare(const ShardBatch& batch) override {
    DeviceScorer::prepare(batch);
    head_.emplace(model_, std::min(rows_at_once_, std::max(1, static_cast<int>(batch.size()))));
  }

 private:
  void queue(const DeviceShards& shards, float* cost_ms, cudaStream_t stream) override {
    head_->run(*blas_, shards, cost_ms, stream);
  }

  std::unique_ptr<gpu::DeviceBlas> blas_;
  Mlp model_;
  int rows_at_once_;
  std::optional<BlasHead> head_;
};

ScorerKind kernel_kind(const std::string& name, const SharedContext& context, Kernel kernel) {
  return {.name = name,
          .exact = true,
          .on_gpu = true,
          .timed_by_device = true,
          .make = [context, kernel](const ScoringInput& input) {
            return std::make_unique<KernelScorer>(context, input, kernel);
          }};
}

ScorerKind blas_kind(const std::string& name, const SharedContext& context, const Mlp& head,
                     int rows_at_once) {
  return {.name = name,
          .exact = false,
          .on_gpu = true,
          .timed_by_device = true,
          .make = [context, head, rows_at_once](const ScoringInput& input) {
            return std::make_unique<BlasScorer>(context, input, head, rows_at_once);
          }};
}

}  // namespace

std::vector<ScorerKind> device_scorers(const CostModels& models, const SharedContext& context) {
  std::vector<ScorerKind> kinds = {kernel_kind("cuda_device", context, Kernel::kChosen),
                                   kernel_kind("cuda_per_warp", context, Kernel::kPerWarp)};
  const Mlp& head = models.compute.head;
  if (gpu::fits_registers(context->models().head(), context->embedding_width())) {
    kinds.push_back(kernel_kind("cuda_gemm", context, Kernel::kGemm));
  }
  if (gpu::cublas_found()) {
    kinds.push_back(blas_kind("cublas", context, head, std::numeric_limits<int>::max()));
    // Sums and activations of so many rows, 25 MB, stay in the L2 cache of an A100 or H100.
    kinds.push_back(blas_kind("cublas_blocks", context, head, 65536));
  }
  return kinds;
}

}  // namespace neuroshard::bench
