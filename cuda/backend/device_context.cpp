#include "cuda/backend/device_context.h"

#include <array>
#include <string>

#include "core/models/symmetric_comm_features.h"
#include "cuda/backend/staging.h"
#include "cuda/device/check.h"
#include "cuda/device/current_device.h"
#include "cuda/networks/comm_costs.h"
#include "cuda/networks/embed_pieces.h"
#include "cuda/networks/score_shards.h"
#include "cuda/placement/place_candidates.h"
#include "cuda/placement/search_beams.h"
#include "neuroshard/error.h"

namespace neuroshard::gpu {

void Workspace::settle() noexcept {
  if (busy) (void)cudaStreamSynchronize(stream.get());
  busy = false;
}

DeviceContext::DeviceContext(int device, const CostModels& models, int embedding_width)
    : device_(device), embedding_width_(embedding_width) {
  const CurrentDevice current(device);
  int shared_bytes = 0;
  NEUROSHARD_CUDA_CHECK(
      cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device));
  NEUROSHARD_CUDA_CHECK(
      cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  shared_bytes_ = static_cast<std::size_t>(shared_bytes);
  prepare_embed_pieces(shared_bytes_);
  prepare_score_shards(shared_bytes_);
  prepare_score_shards_gemm(shared_bytes_);
  prepare_comm_costs(shared_bytes_);
  prepare_place_candidates(shared_bytes_);
  prepare_search_beams(shared_bytes_);
  models_ = std::make_unique<DeviceModels>(models);
  require_shared_memory("the head", score_shards_bytes(models_->head(), embedding_width),
                        shared_bytes_);

  const std::vector<float> no_embeddings(static_cast<std::size_t>(embedding_width));
  const std::array<std::uint32_t, 2> one_empty_shard{0, 0};
  score_shards(no_embeddings, {.offsets = one_empty_shard, .piece_ids = {}}, {&empty_ms_, 1});
}

void DeviceContext::embed_pieces(std::span<const float> features,
                                 std::span<float> embeddings) const {
  if (embeddings.empty()) return;
  const CurrentDevice current(device_);
  const auto workspace = borrow_workspace();
  const InputBlock in(*workspace, features.size_bytes());
  const OutputBlock out(*workspace, embeddings.size_bytes());
  put(in.host(), features);
  const std::byte* inputs = in.send(true);
  workspace->busy = true;
  gpu::embed_pieces(
      {.features = models_->table_features(),
       .network = models_->table_network(),
       .raw_features = reinterpret_cast<const float*>(inputs),
       .embeddings = reinterpret_cast<float*>(out.device()),
       .pieces = static_cast<int>(features.size() /
                                  static_cast<std::size_t>(models_->table_network().inputs)),
       .width = embedding_width_},
      multiprocessors_, shared_bytes_, workspace->stream.get());
  out.fetch();
  std::memcpy(embeddings.data(), out.receive(), embeddings.size_bytes());
}

void DeviceContext::score_shards(std::span<const float> embeddings, const ShardBatch& shards,
                                 std::span<float> cost_ms) const {
  if (shards.size() == 0) return;
  const std::size_t pieces = embeddings.size() / static_cast<std::size_t>(embedding_width_);
  if (pieces >= kMaxScoredPieces) {
    throw Error("cuda backend: " + std::to_string(pieces) + " pieces in one call; it takes up to " +
                    std::to_string(kMaxScoredPieces - 1) + "; give fewer, or use a CPU backend",
                ErrorKind::kBackend);
  }
  constexpr std::size_t kMaxShards = std::size_t{1} << 30;
  if (shards.size() > kMaxShards) {
    throw Error("cuda backend: " + std::to_string(shards.size()) +
                    " shards in one call; it takes " + std::to_string(kMaxShards) + "; give fewer",
                ErrorKind::kBackend);
  }
  const CurrentDevice current(device_);
  const auto workspace = borrow_workspace();
  ArrayPlan plan;
  const std::size_t embeddings_at = plan.add(embeddings);
  const std::size_t offsets_at = plan.add(shards.offsets);
  const std::size_t ids_at = plan.add(shards.piece_ids);
  const InputBlock in(*workspace, plan.bytes());
  const OutputBlock out(*workspace, cost_ms.size_bytes());
  put(in.host() + embeddings_at, embeddings);
  put(in.host() + offsets_at, shards.offsets);
  put(in.host() + ids_at, shards.piece_ids);
  std::byte* inputs = in.send(false);
  workspace->busy = true;
  const ScoreArgs args{.head = models_->head(),
                       .embeddings = at<float>(inputs, embeddings_at),
                       .pieces = static_cast<int>(pieces),
                       .width = embedding_width_,
                       .offsets = at<std::uint32_t>(inputs, offsets_at),
                       .piece_ids = at<std::uint32_t>(inputs, ids_at),
                       .shards = static_cast<int>(shards.size()),
                       .cost_ms = reinterpret_cast<float*>(out.device())};
  cudaStream_t stream = workspace->stream.get();
  if (is_large_batch(args, multiprocessors_, shared_bytes_)) {
    score_shards_gemm(args, multiprocessors_, shared_bytes_, stream);
  } else {
    gpu::score_shards(args, multiprocessors_, stream);
  }
  out.fetch();
  std::memcpy(cost_ms.data(), out.receive(), cost_ms.size_bytes());
}

void DeviceContext::comm_costs(const CommNetworkView& network, int devices,
                               std::span<const float> dim_sums,
                               std::span<const float> start_offsets_ms,
                               std::span<float> cost_ms) const {
  if (cost_ms.empty()) return;
  const CurrentDevice current(device_);
  const auto workspace = borrow_workspace();
  ArrayPlan plan;
  const std::size_t dims_at = plan.add(dim_sums);
  const std::size_t offsets_at = plan.add(start_offsets_ms);
  const InputBlock in(*workspace, plan.bytes());
  const OutputBlock out(*workspace, cost_ms.size_bytes());
  put(in.host() + dims_at, dim_sums);
  put(in.host() + offsets_at, start_offsets_ms);
  std::byte* inputs = in.send(true);
  workspace->busy = true;
  gpu::comm_costs(
      {.network = network,
       .devices = devices,
       .log2_devices = log2_of_devices(devices),
       .dim_sums = at<float>(inputs, dims_at),
       .start_offsets_ms = start_offsets_ms.empty() ? nullptr : at<float>(inputs, offsets_at),
       .cost_ms = reinterpret_cast<float*>(out.device()),
       .placements = static_cast<int>(dim_sums.size() / static_cast<std::size_t>(devices))},
      multiprocessors_, shared_bytes_, workspace->stream.get());
  out.fetch();
  std::memcpy(cost_ms.data(), out.receive(), cost_ms.size_bytes());
}

}  // namespace neuroshard::gpu
