#pragma once

#include <map>
#include <span>

#include "cuda/annealing/chain_views.h"
#include "cuda/backend/device_context.h"
#include "cuda/backend/launches.h"
#include "cuda/backend/staging.h"

namespace neuroshard::gpu {

/// Whether chains of such a problem are annealed on a GPU. A chain that turns out to need more
/// memory than a block has is left out all the same.
[[nodiscard]] bool takes_chains(const DeviceContext& context, const AnnealingProblem& problem,
                                bool prices_ids);

/// Chains of annealing on their way through one device.
class ChainLaunches final : public Launches {
 public:
  /// `prices_ids`: as Backend has it.
  ChainLaunches(const DeviceContext& context, bool prices_ids);

  void add(const Backend::AnnealingRequest& request);
  void prepare() override;
  void launch() override;
  void finish() override;

 private:
  /// A task, and where it lies in the inputs.
  struct Problem {
    std::vector<std::uint32_t> table_lists;
    std::size_t view_at = 0;
    std::size_t pieces_at = 0;
    std::size_t embeddings_at = 0;
    std::size_t whole_at = 0;
    std::size_t most_slices_at = 0;
    std::size_t lists_at = 0;
  };
  struct Chain {
    Backend::AnnealingRequest request;
    ChainSizes sizes;
    std::size_t scratch_bytes = 0;
    std::size_t start_at = 0;   ///< In the inputs.
    std::size_t result_at = 0;  ///< In the outputs: ChainResultView, then the best plan.
  };
  /// Chains that run at once: as many as there is memory for.
  struct Group {
    std::size_t first_chain;
    std::size_t end_chain;
    std::size_t shared_bytes = 0;
  };

  void form_groups();
  void put_problem(std::byte* host, std::byte* device, const AnnealingProblem& problem,
                   const Problem& placed) const;

  bool prices_ids_;
  std::map<const AnnealingProblem*, Problem> problems_;
  std::vector<Chain> chains_;
  std::vector<Group> groups_;
  ChainArgs args_;  ///< But for what differs between groups.
  std::size_t output_bytes_ = 0;
};

}  // namespace neuroshard::gpu
