#include "weights/collection/ranks/host_exchange.h"

#include <vector>

#include "neuroshard/aligned_vector.h"

namespace neuroshard::ranks {
namespace {

class HostExchange : public Exchange {
 public:
  explicit HostExchange(const RankGroup& group) : group_(group) {}

  void set_sample(std::span<const std::int64_t> dim_sums, std::int64_t batch) override {
    const std::int64_t samples = batch / group_.size();
    const std::int64_t mine = dim_sums[static_cast<std::size_t>(group_.rank())];
    own_ = PeerParts::packed(std::vector<std::int64_t>(dim_sums.size(), mine));
    all_ = PeerParts::packed({dim_sums.begin(), dim_sums.end()});
    grow(own_columns_, static_cast<std::size_t>(own_.total() * samples));
    grow(own_samples_, static_cast<std::size_t>(all_.total() * samples));
    column_bytes_ = static_cast<std::size_t>(samples) * sizeof(float);
  }

  void set_replicas(std::int64_t weights) override {
    grow(gradients_, static_cast<std::size_t>(weights), 0.0F);
    grow(weights_, static_cast<std::size_t>(weights));
    replica_weights_ = static_cast<std::size_t>(weights);
  }

  float* own_columns() override { return own_columns_.data(); }
  float* own_samples() override { return own_samples_.data(); }
  float* gradients() override { return gradients_.data(); }
  float* weights() override { return weights_.data(); }

  double forward_ms(Clock::time_point start) override {
    wait_until(start);
    group_.all_to_all(own_columns_.data(), own_, own_samples_.data(), all_, column_bytes_);
    return ms_since(start);
  }

  double backward_ms(Clock::time_point start) override {
    wait_until(start);
    group_.all_to_all(own_samples_.data(), all_, own_columns_.data(), own_, column_bytes_);
    return ms_since(start);
  }

  double all_reduce_ms(Clock::time_point start) override {
    const std::span gradients(gradients_.data(), replica_weights_);
    wait_until(start);
    group_.all_reduce(gradients);
    for (std::size_t i = 0; i < replica_weights_; ++i)
      weights_[i] -= kReplicaLearningRate * gradients[i];
    return ms_since(start);
  }

 private:
  static void grow(AlignedVector<float>& values, std::size_t count, float value = 1.0F) {
    if (values.size() < count) values.assign(count, value);
  }

  const RankGroup& group_;
  // In columns of one rank's samples: floats may be more than MPI counts.
  PeerParts own_;  // This rank's part of each peer's samples.
  PeerParts all_;  // Each peer's part of this rank's samples.
  std::size_t column_bytes_ = 0;
  AlignedVector<float> own_columns_;
  AlignedVector<float> own_samples_;
  std::size_t replica_weights_ = 0;
  AlignedVector<float> gradients_;
  AlignedVector<float> weights_;
};

}  // namespace

std::unique_ptr<Exchange> make_host_exchange(const RankGroup& group) {
  return std::make_unique<HostExchange>(group);
}

}  // namespace neuroshard::ranks
