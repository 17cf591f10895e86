#include "search/replanning/move_budget.h"

#include <algorithm>
#include <cstddef>

namespace neuroshard {
namespace {

// Moving all that may be moved beyond what must has to gain this share of the cost, moving half of
// it half of that. With four times as much ten changes cost the same on average; with nothing,
// 0.7 % more.
constexpr double kLeastGainOfBudget = 0.005;

double gib(std::int64_t bytes) {
  return static_cast<double>(bytes) / static_cast<double>(bytes_from_gib(1.0));
}

}  // namespace

MoveBudget::MoveBudget(const ReplanRequest& request)
    : request_(request), bytes_(request.most_moved_bytes), ms_per_gib_(request.ms_per_moved_gib) {
  if (bytes_) bytes_ = with_unspent(*bytes_, request);
}

std::int64_t MoveBudget::unspent_bytes(std::int64_t moved_bytes) const {
  if (is_any()) return 0;
  // Without the share of devices that have been added.
  const std::int64_t own =
      request_.most_moved_bytes.value_or(must_move_bytes_ + must_move_bytes_ / kShareOnTop);
  const std::int64_t left = std::max<std::int64_t>(0, own - moved_bytes);
  return std::clamp<std::int64_t>(*bytes_ - moved_bytes, 0, with_unspent(left, request_));
}

double MoveBudget::price_ms(std::int64_t moved_bytes) const {
  return ms_per_gib_ * gib(moved_bytes);
}

void MoveBudget::price_moves(double cost_ms) {
  if (is_any() || spare_bytes() == 0) return;
  ms_per_gib_ = kLeastGainOfBudget * cost_ms / gib(spare_bytes());
}

std::int64_t held_bytes(const RunningPlan& running) {
  const auto by_device = slices_by_device(running.plan);
  const std::int64_t of_replicas = replicas_memory(running.task, running.plan).total_bytes();
  std::int64_t bytes = 0;
  for (std::size_t device = 0; device < by_device.size(); ++device) {
    if (std::ranges::find(running.lost_devices, static_cast<int>(device)) !=
        running.lost_devices.end()) {
      continue;
    }
    bytes += of_replicas;
    for (const TableSlice& slice : by_device[device]) bytes += slice_bytes(running.task, slice);
  }
  return bytes;
}

}  // namespace neuroshard
