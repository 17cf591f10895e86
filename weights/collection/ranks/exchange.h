#pragma once

#include <chrono>
#include <cstdint>
#include <span>

namespace neuroshard::ranks {

using Clock = std::chrono::steady_clock;

/// Replicas take steps of so much.
inline constexpr float kReplicaLearningRate = 0.01F;

/// The exchanges of one training iteration, as this rank takes part in them. Rank `r` of D is
/// device `r`: it holds `dim_sums[r]` columns of every sample, and batch / D samples of every
/// column. Every function is called by all ranks at once. All throw Error if memory lacks or a
/// device fails.
class Exchange {
 public:
  virtual ~Exchange() = default;

  /// Readies memory for the all-to-alls below.
  virtual void set_sample(std::span<const std::int64_t> dim_sums, std::int64_t batch) = 0;
  /// Readies memory for the gradients of replicas with so many weights, fewer than 2^31.
  virtual void set_replicas(std::int64_t weights) = 0;

  // Data that is sent and received lies in the memory of the exchange: of the host, or of this
  // rank's GPU.

  /// This rank's columns of all samples, [D * (batch / D), dim_sums[rank]].
  [[nodiscard]] virtual float* own_columns() = 0;
  /// All columns of this rank's samples, those of rank 0 first: [batch / D, dim_sums[r]] of each.
  [[nodiscard]] virtual float* own_samples() = 0;
  /// Gradients of replicas, and weights, [weights] each. Gradients are 0 at first.
  [[nodiscard]] virtual float* gradients() = 0;
  [[nodiscard]] virtual float* weights() = 0;

  // Each waits until `start` by the clock of this rank, and returns the milliseconds from then
  // until this rank has everything that it receives and all that it sends is on its way.

  /// Outputs: this rank sends its columns, to each peer those of the peer's samples.
  [[nodiscard]] virtual double forward_ms(Clock::time_point start) = 0;
  /// Gradients: back from the samples' ranks to the columns' ranks.
  [[nodiscard]] virtual double backward_ms(Clock::time_point start) = 0;
  /// Gradients of replicas are added up over all ranks, and this rank's weights take a step of SGD.
  [[nodiscard]] virtual double all_reduce_ms(Clock::time_point start) = 0;
};

/// Sleeps until shortly before `start`, then spins, letting other processes run.
void wait_until(Clock::time_point start);

/// Milliseconds since `start`.
[[nodiscard]] inline double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

}  // namespace neuroshard::ranks
