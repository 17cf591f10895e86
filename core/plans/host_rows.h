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
/// stay there. How much is in HBM and the host together is another one. Curves are known at so many
/// values of them: none, a twentieth of a batch and more, half as much again each time, and for
/// good.
inline constexpr std::size_t kHostPoints = 40;

/// A slice, or a device with all of its slices, needs so much at each point.
struct HostCurve {
  using Bytes = std::array<std::int64_t, kHostPoints>;
  Bytes hbm{};  ///< In HBM, buffers and what a cache needs to know its rows included.
  /// Moved between the host and HBM in an iteration, in both directions. A row counts at least what
  /// the link moves in the time that a row takes.
  Bytes fetched{};
  Bytes host{};  ///< Elsewhere: in the host's memory. What is left at the end is there alone.
  /// Moved between the host and the SSD in an iteration, in both directions, where rows stay in HBM
  /// or the host for so long. Nothing if the task has no SSD.
  Bytes ssd{};

  void add(const HostCurve& more, int sign = 1) {
    for (std::size_t i = 0; i < kHostPoints; ++i) {
      hbm[i] += sign * more.hbm[i];
      fetched[i] += sign * more.fetched[i];
      host[i] += sign * more.host[i];
    }
    if (more.ssd.front() == 0) return;
    for (std::size_t i = 0; i < kHostPoints; ++i) ssd[i] += sign * more.ssd[i];
  }
};

/// A place on a curve: at a point, or on the way to the next one.
struct CurvePlace {
  std::size_t below = kHostPoints - 1;
  double part = 0.0;  ///< So much of the way.

  [[nodiscard]] double of(const HostCurve::Bytes& bytes) const;
};

/// Where on its curve a device is.
struct HostPoint {
  CurvePlace hbm;                  ///< With as much in HBM as there is room for.
  CurvePlace memory;               ///< And with as much in HBM and the host.
  std::int64_t missing_bytes = 0;  ///< That have room nowhere.

  /// That wait elsewhere than in HBM, if they do not lie between two points.
  [[nodiscard]] std::int64_t host_bytes(const HostCurve& curve) const {
    return curve.host[hbm.below];
  }
  /// That wait on the SSD.
  [[nodiscard]] double ssd_bytes(const HostCurve& curve) const {
    return memory.of(curve.host) - static_cast<double>(curve.host.back());
  }
};

/// `room_bytes`: of HBM. `host`: host_of_device().
[[nodiscard]] HostPoint host_point(const HostCurve& curve, std::int64_t room_bytes,
                                   const HostMemory& host);

/// Milliseconds that a device waits for its host, `ssd_ms` included: a row on the SSD is read into
/// the host's memory before it takes the link.
[[nodiscard]] double fetch_ms(const HostCurve& curve, const HostPoint& point,
                              const HostMemory& host);
/// Milliseconds that it waits for the SSD.
[[nodiscard]] double ssd_ms(const HostCurve& curve, const HostPoint& point, const HostMemory& host);

/// Curves of slices of the tables of a task that states host memory. One per thread.
class HostCurves {
 public:
  explicit HostCurves(const Task& task)
      : host_(task.host), samples_(static_cast<double>(task.batch_size)) {}

  /// A slice of so many rows of `table`, which stays where it is, on a device with such a link.
  /// `memory`: slice_memory() of the slice.
  [[nodiscard]] HostCurve of(const Table& table, std::int64_t rows, const SliceMemory& memory,
                             double link_gb_s);

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
    double ssd_ms = 0.0;
    std::int64_t host_bytes = 0;
    std::int64_t ssd_bytes = 0;
    std::int64_t missing_bytes = 0;
  };
  std::vector<OfDevice> devices;
  std::vector<double> hbm_shares;   ///< [slices]: so many of its rows are in HBM.
  std::vector<double> ssd_shares;   ///< [slices]: so many wait on the SSD; empty: there is none.
  std::vector<SliceMemory> memory;  ///< [slices]: what each takes of HBM.
};

/// `task` states host memory; `plan` is valid.
[[nodiscard]] HostedPlan hosted_plan(const Task& task, const Plan& plan);

}  // namespace neuroshard
