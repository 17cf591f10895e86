#include "search/replanning/move_budget.h"

#include <cstddef>
#include <string>

#include "core/base/message_text.h"
#include "core/tables/stated_gib.h"

namespace neuroshard {
namespace {

/// Bytes that tables take on the devices that are left of a running plan.
std::int64_t held_bytes(const RunningPlan& running, const PlanCost& cost) {
  std::int64_t bytes = 0;
  for (const DeviceCost& device : cost.devices) bytes += device.memory_bytes;
  for (const int lost : running.lost_devices) {
    bytes -= cost.devices[static_cast<std::size_t>(lost)].memory_bytes;
  }
  return bytes;
}

std::int64_t with_unspent(std::int64_t budget, const ReplanRequest& request) {
  return budget + std::min(request.unspent_bytes.value_or(0), kAnyBytes - budget);
}

}  // namespace

MoveBudget::MoveBudget(const ReplanRequest& request)
    : request(request), ms_per_byte(request.ms_per_moved_gib / kGib) {
  if (request.ms_per_moved_gib > 0.0) bytes = kAnyBytes;  // If no more is said.
  if (request.most_moved_bytes) set(*request.most_moved_bytes);
}

void MoveBudget::set(std::int64_t own) { bytes = with_unspent(own, request); }

std::int64_t MoveBudget::unspent_bytes(std::int64_t moved_bytes) const {
  if (is_any()) return 0;
  // Without the share of devices that have been added.
  const std::int64_t own =
      request.most_moved_bytes.value_or(least_bytes + least_bytes / kShareOnTop);
  const std::int64_t left = std::max<std::int64_t>(0, own - moved_bytes);
  return std::clamp<std::int64_t>(*bytes - moved_bytes, 0, with_unspent(left, request));
}

Error MoveBudget::too_small(std::int64_t enough_bytes) const {
  return Error("no plan was found within the move budget of " + format_bytes(*bytes) +
               (request.unspent_bytes.value_or(0) > 0 ? ", what earlier ones left included" : "") +
               "; give at least " + std::to_string(enough_bytes) + " bytes (" +
               shortest_text(stated_gib(enough_bytes)) + " GiB)");
}

void MoveBudget::price_moves(double cost_ms, double share) {
  if (is_any() || spare_bytes() == 0) return;
  ms_per_byte = share * cost_ms / static_cast<double>(spare_bytes());
}

std::int64_t small_moves_bytes(const ReplanRequest& request, const RunningPlan& running,
                               const PlanCost& running_cost, int devices) {
  const std::int64_t of_device = std::min(request.small_moves_bytes, kMaxTaskBytes / devices);
  return std::max(of_device * devices, static_cast<std::int64_t>(
                                           request.small_moves_share *
                                           static_cast<double>(held_bytes(running, running_cost))));
}

}  // namespace neuroshard
