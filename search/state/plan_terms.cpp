#include "search/state/plan_terms.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace neuroshard {
namespace {

/// The price of what is moved from the plan that runs, and of its replicas that are dropped.
class PriceOfMoves final : public PlanTerm {
 public:
  [[nodiscard]] bool concerns(const PlanState& state) const override {
    return state.moved() != nullptr;
  }
  [[nodiscard]] double ms(const PlanState& state) const override {
    return state.moved()->charge_ms(state.sums.moved_bytes, state.sums.is_replica);
  }
  [[nodiscard]] double added_ms(const PlanState& state, const Edit& edit) const override {
    const double ms_per_byte = state.moved()->terms().ms_per_byte;
    if (ms_per_byte == 0.0) return 0.0;
    return ms_per_byte *
           static_cast<double>(state.moved_bytes_after(edit) - state.sums.moved_bytes);
  }
};

/// StoragePrice, on the device that stores most.
class PriceOfStorage final : public PlanTerm {
 public:
  [[nodiscard]] bool concerns(const PlanState& state) const override {
    return !state.sums.stored_bytes.empty();
  }
  [[nodiscard]] double ms(const PlanState& state) const override {
    return state.ways().options().storage.ms(state.most_stored_bytes());
  }
  [[nodiscard]] double added_ms(const PlanState& state, const Edit& edit) const override {
    return state.ways().options().storage.ms(state.most_stored_bytes_after(edit) -
                                             state.most_stored_bytes());
  }
};

constexpr PriceOfMoves kPriceOfMoves;
constexpr PriceOfStorage kPriceOfStorage;

constexpr std::array<const PlanTerm*, 2> kPlanTerms = {&kPriceOfMoves, &kPriceOfStorage};

}  // namespace

std::vector<const PlanTerm*> terms_of(const PlanState& state) {
  std::vector<const PlanTerm*> terms;
  const auto concerns = [&](const PlanTerm* term) { return term->concerns(state); };
  std::ranges::copy_if(kPlanTerms, std::back_inserter(terms), concerns);
  std::ranges::copy_if(state.ways().options().terms, std::back_inserter(terms), concerns);
  return terms;
}

}  // namespace neuroshard
