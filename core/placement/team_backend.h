#pragma once

#include "core/base/thread_team.h"
#include "core/placement/forwarding_backend.h"

namespace neuroshard {

/// A CPU backend with a team of threads at hand: each session's candidates are dealt out to them.
/// Everything else is the caller's thread's.
class TeamBackend final : public ForwardingBackend {
 public:
  /// Borrows both.
  TeamBackend(const Backend& cpu, ThreadTeam::Lease& team) : ForwardingBackend(cpu), team_(team) {}

  [[nodiscard]] std::unique_ptr<PlacementSession> start(
      const PlacementProblem& problem) const override;

 private:
  ThreadTeam::Lease& team_;
};

}  // namespace neuroshard
