#pragma once

#include <memory>
#include <span>
#include <vector>

#include "neuroshard/task.h"
#include "weights/collection/analytic_comm.h"
#include "weights/collection/analytic_compute.h"
#include "weights/collection/sample_draws.h"

namespace neuroshard {

/// Where compute costs come from: a model, or an operator that is really run. One thread at a time.
class ComputeCostSource {
 public:
  virtual ~ComputeCostSource() = default;

  /// Milliseconds of one iteration over a shard; `ids` into the tables that the source was made
  /// for. Throws Error (kBackend) if a device fails.
  [[nodiscard]] virtual double cost_ms(std::span<const int> ids) = 0;

  /// From now on costs are of operators that serve so many samples. Throws Error if the source
  /// knows those of its batch only, as all do that measure.
  virtual void serve(std::int64_t samples);
};

/// Where communication costs come from.
class CommCostSource {
 public:
  virtual ~CommCostSource() = default;

  [[nodiscard]] virtual CommCost cost(const CommDraw& draw) = 0;
};

/// The datasheet models. The first borrows `tables`.
[[nodiscard]] std::unique_ptr<ComputeCostSource> make_analytic_compute_source(
    const GpuSpec& gpu, std::span<const Table> tables, std::int64_t batch);
[[nodiscard]] std::unique_ptr<CommCostSource> make_analytic_comm_source(const NetworkSpec& network,
                                                                        std::int64_t batch);

}  // namespace neuroshard
