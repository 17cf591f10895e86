#include "cuda/operators/nccl_exchange.h"

#include <dlfcn.h>
#include <nccl.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <numeric>
#include <vector>

#include "cuda/device/buffers.h"
#include "cuda/device/check.h"
#include "cuda/operators/fill_random.h"
#include "cuda/operators/step_weights.h"
#include "neuroshard/cuda_backend.h"
#include "neuroshard/error.h"

namespace neuroshard::ranks {
namespace {

// NCCL is loaded when it is needed: programs start without it, and a cluster's own knows its
// network.
class Nccl {
 public:
  Nccl() {
    const char* const given = std::getenv("NEUROSHARD_NCCL");
    const char* const name = given != nullptr ? given : "libnccl.so.2";
    library_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) {
      const char* const why = ::dlerror();
      throw Error(std::string("NCCL cannot be loaded: ") + (why != nullptr ? why : name) +
                      "; set NEUROSHARD_NCCL to the path of libnccl.so.2",
                  ErrorKind::kBackend);
    }
    find(get_unique_id, "ncclGetUniqueId");
    find(init_rank, "ncclCommInitRank");
    find(destroy, "ncclCommDestroy");
    find(group_start, "ncclGroupStart");
    find(group_end, "ncclGroupEnd");
    find(send, "ncclSend");
    find(receive, "ncclRecv");
    find(all_reduce, "ncclAllReduce");
    find(error_string, "ncclGetErrorString");
  }

  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRank) init_rank = nullptr;
  decltype(&ncclCommDestroy) destroy = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclSend) send = nullptr;
  decltype(&ncclRecv) receive = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclGetErrorString) error_string = nullptr;

 private:
  template <typename Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
    if (function != nullptr) return;
    throw Error(std::string("NCCL has no ") + name + "; use NCCL 2.7 or later",
                ErrorKind::kBackend);
  }

  void* library_;
};

// Loaded once, and never unloaded: it has threads.
const Nccl& nccl() {
  static const Nccl loaded;
  return loaded;
}

void check_nccl(ncclResult_t result, const char* call) {
  if (result == ncclSuccess) return;
  throw Error(std::string("nccl: ") + call + ": " + nccl().error_string(result) +
                  "; NCCL_DEBUG=INFO makes NCCL say more",
              ErrorKind::kBackend);
}
#define NEUROSHARD_NCCL_CHECK(call) check_nccl((call), #call)

// Between two looks at whether NCCL is up.
constexpr std::chrono::milliseconds kLook{1};

class NcclExchange : public Exchange {
 public:
  NcclExchange(const MpiGroup& group, int gpu) : group_(group) {
    ncclUniqueId id{};
    if (group.rank() == 0) NEUROSHARD_NCCL_CHECK(nccl().get_unique_id(&id));
    group.broadcast(std::as_writable_bytes(std::span(&id, 1)));
    // NCCL waits for all ranks, and would do so for ever.
    auto made = std::async(std::launch::async, [&] {
      NEUROSHARD_CUDA_CHECK(cudaSetDevice(gpu));
      NEUROSHARD_NCCL_CHECK(nccl().init_rank(&communicator_, group.size(), id, group.rank()));
    });
    group.await([&] { return made.wait_for(kLook) == std::future_status::ready; });
    made.get();
  }
  ~NcclExchange() override { (void)nccl().destroy(communicator_); }
  NcclExchange(const NcclExchange&) = delete;
  NcclExchange& operator=(const NcclExchange&) = delete;

  void set_sample(std::span<const std::int64_t> dim_sums, std::int64_t batch) override {
    const auto samples = static_cast<std::size_t>(batch / group_.size());
    all_.clear();
    for (const std::int64_t columns : dim_sums) {
      all_.push_back(static_cast<std::size_t>(columns) * samples);
    }
    const std::size_t mine = all_[static_cast<std::size_t>(group_.rank())];
    own_.assign(dim_sums.size(), mine);
    grow(own_columns_, mine * dim_sums.size());
    grow(own_samples_, std::accumulate(all_.begin(), all_.end(), std::size_t{0}));
    stream_.synchronize();
  }

  void set_replicas(std::int64_t weights) override {
    replica_weights_ = static_cast<std::size_t>(weights);
    grow(weights_, replica_weights_);
    gradients_.reserve(replica_weights_ * sizeof(float));
    // Zeros stay finite, whatever is added up.
    NEUROSHARD_CUDA_CHECK(
        cudaMemsetAsync(gradients_.data(), 0, replica_weights_ * sizeof(float), stream_.get()));
    stream_.synchronize();
  }

  float* own_columns() override { return reinterpret_cast<float*>(own_columns_.data()); }
  float* own_samples() override { return reinterpret_cast<float*>(own_samples_.data()); }
  float* gradients() override { return reinterpret_cast<float*>(gradients_.data()); }
  float* weights() override { return reinterpret_cast<float*>(weights_.data()); }

  double forward_ms(Clock::time_point start) override {
    return timed_ms(start, [&] { all_to_all(own_columns_, own_, own_samples_, all_); });
  }
  double backward_ms(Clock::time_point start) override {
    return timed_ms(start, [&] { all_to_all(own_samples_, all_, own_columns_, own_); });
  }
  double all_reduce_ms(Clock::time_point start) override {
    return timed_ms(start, [&] {
      NEUROSHARD_NCCL_CHECK(nccl().all_reduce(gradients(), gradients(), replica_weights_, ncclFloat,
                                              ncclSum, communicator_, stream_.get()));
      gpu::step_weights(gradients(), replica_weights_, kReplicaLearningRate, weights(),
                        stream_.get());
    });
  }

 private:
  void grow(gpu::DeviceBuffer& buffer, std::size_t floats) const {
    if (floats * sizeof(float) <= buffer.bytes()) return;
    buffer.reserve(floats * sizeof(float));
    gpu::fill_random(reinterpret_cast<float*>(buffer.data()), buffer.bytes() / sizeof(float), 1.0F,
                     stream_.get());
  }

  void all_to_all(const gpu::DeviceBuffer& from, const std::vector<std::size_t>& sent,
                  const gpu::DeviceBuffer& to, const std::vector<std::size_t>& received) const {
    const auto* send = reinterpret_cast<const float*>(from.data());
    auto* receive = reinterpret_cast<float*>(to.data());
    NEUROSHARD_NCCL_CHECK(nccl().group_start());
    for (int peer = 0; peer < group_.size(); ++peer) {
      const auto p = static_cast<std::size_t>(peer);
      NEUROSHARD_NCCL_CHECK(
          nccl().send(send, sent[p], ncclFloat, peer, communicator_, stream_.get()));
      NEUROSHARD_NCCL_CHECK(
          nccl().receive(receive, received[p], ncclFloat, peer, communicator_, stream_.get()));
      send += sent[p];
      receive += received[p];
    }
    NEUROSHARD_NCCL_CHECK(nccl().group_end());
  }

  // Times work that `enqueue` gives to the stream.
  template <typename Enqueue>
  double timed_ms(Clock::time_point start, Enqueue enqueue) {
    wait_until(start);
    start_.record(stream_);
    enqueue();
    end_.record(stream_);
    group_.await([&] {
      const cudaError_t idle = cudaStreamQuery(stream_.get());
      if (idle == cudaErrorNotReady) return false;
      NEUROSHARD_CUDA_CHECK(idle);
      return true;
    });
    return end_.ms_since(start_);
  }

  const MpiGroup& group_;
  ncclComm_t communicator_ = nullptr;
  gpu::Stream stream_;
  gpu::Event start_;
  gpu::Event end_;
  std::vector<std::size_t> own_;  // Floats that this rank holds of each peer's samples.
  std::vector<std::size_t> all_;  // Floats that each peer holds of this rank's samples.
  gpu::DeviceBuffer own_columns_;
  gpu::DeviceBuffer own_samples_;
  std::size_t replica_weights_ = 0;
  gpu::DeviceBuffer gradients_;
  gpu::DeviceBuffer weights_;
};

CudaDevice device_of_rank(const RankGroup& group) {
  for (const CudaDevice& device : cuda_devices()) {
    if (device.index != group.local_rank()) continue;
    if (device.usable) return device;
    throw Error("rank " + std::to_string(group.rank()) + ": its GPU " +
                    std::to_string(device.index) + ", a " + device.name + ", is too old",
                ErrorKind::kBackend);
  }
  throw Error("rank " + std::to_string(group.rank()) + " is number " +
                  std::to_string(group.local_rank()) +
                  " on its machine (counted from 0), which has no GPU of this number; start one "
                  "rank per GPU (mpirun --map-by ppr:GPUS:node)",
              ErrorKind::kBackend);
}

}  // namespace

std::unique_ptr<Exchange> make_nccl_exchange(const MpiGroup& group) {
  const int gpu = device_of_rank(group).index;
  NEUROSHARD_CUDA_CHECK(cudaSetDevice(gpu));
  return std::make_unique<NcclExchange>(group, gpu);
}

std::string gpu_of_rank(const RankGroup& group) {
  (void)nccl();  // A rank without it must say so before the others wait for it within NCCL.
  return device_of_rank(group).name;
}

}  // namespace neuroshard::ranks
