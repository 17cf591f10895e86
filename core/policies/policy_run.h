#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "core/models/mlp_runner.h"
#include "core/models/packed_mlp.h"
#include "neuroshard/placement_policy.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// A policy that places the tables of one task, on one thread.
class PolicyRun {
 public:
  virtual ~PolicyRun() = default;

  /// The tables in the order in which they are placed: that of their own predicted costs, dearest
  /// first.
  [[nodiscard]] const std::vector<std::size_t>& order() const { return order_; }
  /// [devices]: how well the next table is on each, whether it has room or not. Good until place().
  [[nodiscard]] virtual std::span<const float> logits() = 0;
  /// Puts the next table on `device`.
  virtual void place(std::size_t device) = 0;

 protected:
  std::vector<std::size_t> order_;
};

/// A network as kernels read it, with what it takes to run it.
struct PackedPart {
  PackedMlp network;
  bool relu_after_last = false;

  [[nodiscard]] MlpRunner runner(const CpuKernels& kernels,
                                 int most_rows = MlpRunner::kBlockRows) const {
    return {kernels, network, relu_after_last, most_rows};
  }
};

struct PackedDreamshard {
  explicit PackedDreamshard(const DreamshardPolicy& policy);

  PackedPart cost_tables, forward, communication, backward, overall, cost_features, policy_tables,
      choice;
};

struct PackedAutoshard {
  explicit PackedAutoshard(const AutoshardPolicy& policy);

  Normalization features;
  PackedPart tables, progress, memory_0, memory_1, baseline, load, choice, cost;
};

/// A policy that is ready to place. Immutable: share one between threads.
class PackedPolicy {
 public:
  /// Borrows `kernels`.
  PackedPolicy(const CpuKernels& kernels, const PlacementPolicy& policy);

  /// For one task. Borrows this.
  [[nodiscard]] std::unique_ptr<PolicyRun> start(std::span<const Table> tables,
                                                 std::size_t devices) const;

 private:
  const CpuKernels& kernels_;
  std::variant<PackedDreamshard, PackedAutoshard> networks_;
};

/// Indices of `costs`, largest first; equal ones stay in order.
[[nodiscard]] std::vector<std::size_t> dearest_first(std::span<const float> costs);

}  // namespace neuroshard
