#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/random.h"
#include "search/improvement/working_plan.h"

namespace neuroshard {

/// Devices that a plan waits for.
struct CriticalDevices {
  std::uint32_t slowest = 0;     ///< In total.
  std::uint32_t last_ready = 0;  ///< For the forward all-to-all: highest compute + backward cost.
  std::uint32_t widest = 0;      ///< Highest dim sum.
  /// Most lookups; nothing if ids are not priced.
  std::optional<std::uint32_t> busiest{};
};

/// What becomes of halves of one table that meet on a device.
enum class Halves {
  kJoined,  ///< Joined at once, since apart they cost more. Leads down fastest.
  /// Kept until an edit joins them. A table can then be split where it is before its halves move,
  /// which leads to plans of many slices that are not reached otherwise.
  kKept,
};

/// Draws edits of a plan at random. Communication costs depend on how evenly columns are spread, so
/// most edits come in a form that gives back as many columns as it takes:
///   move a slice; swap two, mostly of one width; a slice for two of half its width;
///   halve a slice and move one half, perhaps against a slice of that width;
///   join two halves on the device of one, perhaps against a slice of their width.
class EditSource {
 public:
  /// Borrows `plan`.
  EditSource(const WorkingPlan& plan, Halves halves, std::uint64_t seed, std::uint64_t stream)
      : plan_(plan), halves_(halves), random_(seed, stream) {}

  /// The next edit; nothing if the draw came to none (no such slices, the same piece twice, ...).
  [[nodiscard]] std::optional<PlanEdit> draw(const CriticalDevices& critical);

  /// Uniform in [0, 1).
  [[nodiscard]] double uniform() { return random_.uniform(); }

 private:
  using Slice = std::uint32_t;

  [[nodiscard]] std::uint32_t below(std::size_t bound) {
    return static_cast<std::uint32_t>(random_.below(bound));
  }
  [[nodiscard]] std::optional<Slice> first_slice(const CriticalDevices& critical);
  [[nodiscard]] std::optional<Slice> slice_on(std::uint32_t device);
  /// One of `dim` columns, other than `but`; gives up soon.
  [[nodiscard]] std::optional<Slice> slice_on(std::uint32_t device, int dim, Slice but);
  [[nodiscard]] std::optional<std::uint32_t> other_device(std::uint32_t device);

  [[nodiscard]] std::optional<PlanEdit> move(Slice slice);
  [[nodiscard]] std::optional<PlanEdit> swap(Slice slice);
  [[nodiscard]] std::optional<PlanEdit> swap_for_two(Slice slice);
  [[nodiscard]] std::optional<PlanEdit> halve(Slice slice);
  [[nodiscard]] std::optional<PlanEdit> join(Slice slice);

  const WorkingPlan& plan_;
  Halves halves_;
  Random random_;
};

/// Joins what `edit` adds with halves of the same tables on the same devices.
void join_halves(const WorkingPlan& plan, PlanEdit& edit);

}  // namespace neuroshard
