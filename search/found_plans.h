#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "search/layout.h"

namespace neuroshard {

/// Whether some renumbering of devices, and of equal slices, makes one of the other.
[[nodiscard]] bool same_plan(const Layout& a, const Layout& b);

/// The best plans that a search has come across, all different.
class FoundPlans {
 public:
  struct Found {
    Layout layout;
    PlanCost cost;
  };

  /// Keeps the `most` cheapest, at least one.
  explicit FoundPlans(std::size_t most) : most_(most) {}

  /// True if it is the cheapest so far.
  bool add(Layout layout, PlanCost cost);

  [[nodiscard]] bool empty() const { return found_.empty(); }
  [[nodiscard]] const Found& best() const { return found_.front(); }
  /// The cheapest first.
  [[nodiscard]] const std::vector<Found>& all() const { return found_; }

 private:
  std::size_t most_;
  std::vector<Found> found_;
};

}  // namespace neuroshard
