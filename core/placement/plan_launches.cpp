#include "core/placement/plan_launches.h"

#include <algorithm>
#include <array>
#include <span>

namespace neuroshard {
namespace {

std::vector<std::byte> question_of(const PlacementProblem& problem, const BeamProblem& beam) {
  const std::array<std::int64_t, 5> numbers = {problem.devices, problem.memory_bytes,
                                               beam.beam_width, beam.candidates, beam.max_splits};
  const std::array<std::span<const std::byte>, 9> arrays = {
      std::as_bytes(std::span(numbers)),
      std::as_bytes(std::span(problem.embeddings)),
      std::as_bytes(std::span(problem.dims)),
      std::as_bytes(std::span(problem.size_bytes)),
      std::as_bytes(std::span(problem.dim_limits)),
      std::as_bytes(std::span(beam.pieces)),
      std::as_bytes(std::span(beam.order)),
      std::as_bytes(std::span(beam.piece_cost_ms)),
      std::as_bytes(std::span(beam.may_halve))};
  std::size_t total = 0;
  for (const std::span<const std::byte> bytes : arrays) total += sizeof(std::size_t) + bytes.size();
  std::vector<std::byte> question;
  question.reserve(total);
  for (const std::span<const std::byte> bytes : arrays) {
    const std::size_t size = bytes.size();
    const auto length = std::as_bytes(std::span(&size, 1));
    question.insert(question.end(), length.begin(), length.end());
    question.insert(question.end(), bytes.begin(), bytes.end());
  }
  return question;
}

}  // namespace

const BeamOutcome* PlanLaunches::outcome_of(const PlacementProblem& problem,
                                            const BeamProblem& beam) const {
  if (known_.empty()) return nullptr;
  const auto found = std::ranges::find(known_, question_of(problem, beam), &Known::question);
  return found == known_.end() ? nullptr : &found->outcome;
}

void PlanLaunches::remember(const PlacementProblem& problem, const BeamProblem& beam,
                            const BeamOutcome& outcome) {
  if (!asked_again_) return;
  known_.push_back({question_of(problem, beam), outcome});
}

}  // namespace neuroshard
