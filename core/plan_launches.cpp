#include "core/plan_launches.h"

#include <algorithm>
#include <span>

namespace neuroshard {
namespace {

std::vector<std::byte> question_of(const PlacementProblem& problem, const BeamProblem& beam) {
  std::vector<std::byte> question;
  const auto add = [&](const auto& array) {
    const std::size_t size = array.size();
    const auto length = std::as_bytes(std::span(&size, 1));
    const auto bytes = std::as_bytes(std::span(array));
    question.insert(question.end(), length.begin(), length.end());
    question.insert(question.end(), bytes.begin(), bytes.end());
  };
  add(std::vector<std::int64_t>{problem.devices, problem.memory_bytes, beam.beam_width,
                                beam.candidates, beam.max_splits});
  add(problem.embeddings);
  add(problem.dims);
  add(problem.size_bytes);
  add(problem.dim_limits);
  add(beam.pieces);
  add(beam.order);
  add(beam.piece_cost_ms);
  add(beam.may_halve);
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
  known_.push_back({question_of(problem, beam), outcome});
}

}  // namespace neuroshard
