#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "core/tables/row_popularity.h"
#include "neuroshard/plan.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// How much of tables is in HBM is one number for all slices of a device: for how many batches rows
/// stay there. Curves are known at so many values of it: none, a twentieth of a batch and more,
/// half as much again each time, and for good.
inline constexpr std::size_t kHostPoints = 40;

/// A slice, or a device with all of its slices, needs so much at each point.
struct HostCurve {
  using Bytes = std::array<std::int64_t, kHostPoints>;
  Bytes hbm{};  ///< In HBM, buffers and what a cache needs to know its rows included.
  /// Moved between the host and HBM in an iteration, in both directions. A row counts at least what
  /// the link moves in the time that a row takes.
  Bytes fetched{};
  Bytes host{};  ///< In the host's memory.

  void add(const HostCurve& more, int sign = 1) {
    for (std::size_t i = 0; i < kHostPoints; ++i) {
      hbm[i] += sign * more.hbm[i];
      fetched[i] += sign * more.fetched[i];
      host[i] += sign * more.host[i];
    }
  }
};

/// Where on its curve a device is: with as much in HBM as there is room for.
struct HostPoint {
  std::size_t below = kHostPoints - 1;
  double part = 0.0;               ///< So much of the way to the next point.
  std::int64_t missing_bytes = 0;  ///< That have room neither in HBM nor in the host's memory.

  [[nodiscard]] double of(const HostCurve::Bytes& bytes) const;
};

/// `room_bytes`: of HBM.
[[nodiscard]] HostPoint host_point(const HostCurve& curve, std::int64_t room_bytes,
                                   const HostMemory& host);

/// Milliseconds that a device waits for its host.
[[nodiscard]] double fetch_ms(const HostCurve& curve, const HostPoint& point,
                              const HostMemory& host);

/// Curves of slices of the tables of a task that states host memory. One per thread.
class HostCurves {
 public:
  explicit HostCurves(const Task& task)
      : host_(task.host), samples_(static_cast<double>(task.batch_size)) {}

  /// A slice of so many rows of `table`, which stays where it is. `memory`: slice_memory() of the
  /// slice.
  [[nodiscard]] HostCurve of(const Table& table, std::int64_t rows, const SliceMemory& memory);

 private:
  using RowsOfTable = std::array<RowReuse::Rows, kHostPoints>;  ///< At each point.
  const RowsOfTable& rows_of(const Table& table);

  HostMemory host_;
  double samples_;
  std::map<const Table*, RowsOfTable> tables_;
};

/// Where the rows of a plan are.
struct HostedPlan {
  struct OfDevice {
    double fetch_ms = 0.0;
    std::int64_t host_bytes = 0;
    std::int64_t missing_bytes = 0;
  };
  std::vector<OfDevice> devices;
  std::vector<double> hbm_shares;   ///< [slices]: so many of its rows are in HBM.
  std::vector<SliceMemory> memory;  ///< [slices]: what each takes of HBM.
};

/// `task` states host memory; `plan` is valid.
[[nodiscard]] HostedPlan hosted_plan(const Task& task, const Plan& plan);

}  // namespace neuroshard
