#pragma once

#include <utility>
#include <variant>

#include "neuroshard/error.h"
#include "neuroshard/plan_result.h"

namespace neuroshard {

/// Outcome of one task among many: its result, or why it was not planned. It works as
/// std::expected<PlanResult, Error> of C++23 does, but value() throws the Error itself.
class PlanOutcome {
 public:
  PlanOutcome() = default;  ///< An empty result.
  PlanOutcome(PlanResult result) : outcome_(std::move(result)) {}
  PlanOutcome(Error error) : outcome_(std::move(error)) {}

  [[nodiscard]] bool has_value() const { return std::holds_alternative<PlanResult>(outcome_); }
  explicit operator bool() const { return has_value(); }
  [[nodiscard]] bool has_plan() const { return has_value() && (**this).plan.has_value(); }

  /// Throws the Error if there is no result.
  [[nodiscard]] const PlanResult& value() const& {
    if (!has_value()) throw error();
    return std::get<PlanResult>(outcome_);
  }
  [[nodiscard]] PlanResult&& value() && {
    if (!has_value()) throw error();
    return std::get<PlanResult>(std::move(outcome_));
  }
  /// Requires an outcome that has a value.
  const PlanResult& operator*() const { return *std::get_if<PlanResult>(&outcome_); }
  const PlanResult* operator->() const { return std::get_if<PlanResult>(&outcome_); }
  /// Requires an outcome that has none.
  [[nodiscard]] const Error& error() const { return *std::get_if<Error>(&outcome_); }

 private:
  std::variant<PlanResult, Error> outcome_;
};

}  // namespace neuroshard
