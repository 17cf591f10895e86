#pragma once

#include <span>

#include "cuda/device/buffers.h"
#include "cuda/device/object_pool.h"
#include "cuda/networks/device_models.h"
#include "neuroshard/backend.h"

namespace neuroshard::gpu {

/// Memory and stream of one call while it runs. Buffers keep their size, so that a steady load
/// allocates nothing.
struct Workspace {
  Stream stream;
  PinnedBuffer host_in;
  PinnedBuffer host_out;
  DeviceBuffer device_in;
  DeviceBuffer device_out;
  DeviceBuffer scratch;
  /// True while the stream may have work.
  bool busy = false;

  /// Waits for work that a call left behind when it failed. Its error was thrown by then.
  void settle() noexcept;
};

/// Memory of one session: its task in device memory, and the copy that goes there.
struct SessionMemory {
  PinnedBuffer host;
  DeviceBuffer device;
};

/// One CUDA device: its weights, its kernels' limits, and what calls borrow of it. Safe to share
/// between threads. Every function makes the device current while it runs.
class DeviceContext {
 public:
  /// Uploads the models and runs a first kernel; throws Error (kBackend) if the device cannot.
  DeviceContext(int device, const CostModels& models, int embedding_width);
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;

  void embed_pieces(std::span<const float> features, std::span<float> embeddings) const;
  void score_shards(std::span<const float> embeddings, const ShardBatch& shards,
                    std::span<float> cost_ms) const;
  /// `start_offsets_ms` is empty for the backward pass.
  void comm_costs(const CommNetworkView& network, int devices, std::span<const float> dim_sums,
                  std::span<const float> start_offsets_ms, std::span<float> cost_ms) const;

  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] int multiprocessors() const { return multiprocessors_; }
  /// Shared memory that a block may use.
  [[nodiscard]] std::size_t shared_bytes() const { return shared_bytes_; }
  [[nodiscard]] int embedding_width() const { return embedding_width_; }
  [[nodiscard]] const DeviceModels& models() const { return *models_; }
  /// head(0)
  [[nodiscard]] float empty_ms() const { return empty_ms_; }

  [[nodiscard]] ObjectPool<Workspace>::Lease borrow_workspace() const {
    return workspaces_.borrow();
  }
  [[nodiscard]] ObjectPool<SessionMemory>::Lease borrow_session_memory() const {
    return session_memories_.borrow();
  }

 private:
  int device_;
  int embedding_width_;
  int multiprocessors_ = 0;
  std::size_t shared_bytes_ = 0;
  float empty_ms_ = 0.0F;
  std::unique_ptr<DeviceModels> models_;
  mutable ObjectPool<Workspace> workspaces_;
  mutable ObjectPool<SessionMemory> session_memories_;
};

}  // namespace neuroshard::gpu
