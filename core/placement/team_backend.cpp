#include "core/placement/team_backend.h"

#include <utility>
#include <vector>

#include "core/placement/parallel_session.h"

namespace neuroshard {

std::unique_ptr<PlacementSession> TeamBackend::start(const PlacementProblem& problem) const {
  std::vector<std::unique_ptr<PlacementSession>> parts;
  parts.reserve(team_.threads());
  while (parts.size() < team_.threads()) parts.push_back(inner().start(problem));
  return std::make_unique<ParallelSession>(team_, std::move(parts), problem.dim_limits.size());
}

}  // namespace neuroshard
