// Checks of requests, and their parts of the time.
#include <algorithm>
#include <chrono>
#include <string>

#include "neuroshard/error.h"
#include "neuroshard/plan_request.h"
#include "neuroshard/replan.h"
#include "search/planner_impl.h"
#include "search/planner_options.h"

namespace neuroshard {
namespace {

void require_price(double ms_per_gib, const std::string& kind) {
  // As much as a plan can cost.
  if (ms_per_gib >= 0.0 && ms_per_gib <= kMostMsPerStoredGib) return;
  throw Error("the price of a " + kind + " GiB is " + std::to_string(ms_per_gib) +
              " ms; give between 0 and 1e6");
}

}  // namespace

void validate(const PlanRequest& request) {
  require_between(request.alternatives, 0, 1000, "alternatives");
  require_price(request.storage.ms_per_gib, "stored");
  const double samples = request.storage.touched_in_samples;
  if (!(samples >= 0.0 && samples <= kMostTouchingSamples)) {
    throw Error("the price of what is stored is of rows that " + std::to_string(samples) +
                " samples touch; give between 0 and 1e18");
  }
}

void validate(const ReplanRequest& request) {
  validate(request.plan);
  if (request.plan.storage.ms_per_gib > 0.0) {
    throw Error("what tables store has a price, which re-planning does not heed; leave it out");
  }
  if (request.most_moved_bytes && *request.most_moved_bytes < 0) {
    throw Error("the move budget is negative; give a number of bytes, or leave it out");
  }
  if (request.unspent_bytes && *request.unspent_bytes < 0) {
    throw Error("the unspent bytes of earlier move budgets are negative; give what they left");
  }
  if (!(request.small_moves_share >= 0.0 && request.small_moves_share <= 1.0)) {
    throw Error("the share that small moves may take is " +
                std::to_string(request.small_moves_share) + "; give between 0 and 1");
  }
  if (request.small_moves_bytes < 0) {
    throw Error("the bytes of small moves are negative; give how many each device may be sent");
  }
  require_price(request.ms_per_moved_gib, "moved");
  if (request.unspent_bytes && request.ms_per_moved_gib > 0.0) {
    throw Error(
        "moves have a price, and unspent bytes of earlier move budgets are given, too; give one of "
        "them");
  }
}

PlanRequest with_part_of_the_time(PlanRequest request, int parts) {
  const auto now = std::chrono::steady_clock::now();
  if (request.deadline) *request.deadline = now + (std::max(now, *request.deadline) - now) / parts;
  return request;
}

}  // namespace neuroshard
