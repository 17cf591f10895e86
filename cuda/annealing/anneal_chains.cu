#include "core/tables/natural_log.h"
#include "cuda/annealing/anneal_chains.h"
#include "cuda/annealing/chain_costs.cuh"
#include "cuda/device/launch.h"

namespace neuroshard::gpu {
namespace {

/// What the lane that draws edits hands to the others.
struct DrawnEdit {
  bool found = false;  ///< Else the chain is at its end.
  double limit_ms = 0.0;
  double ids_share = 1.0;
};

/// The part of one lane: steps, temperature and random numbers.
class ChainSteps {
 public:
  __device__ explicit ChainSteps(const ChainView& chain)
      : chain_(chain), random_(annealing::kSeed, chain.stream) {}

  __device__ void begin(double start_ms) { temperature_ms_ = chain_.hottest * fabs(start_ms); }

  /// Draws until an edit has to be priced.
  __device__ DrawnEdit next(ChainPlan& plan, const ChainCosts& costs) {
    DrawnEdit drawn{.ids_share = costs.ids_share()};
    while (step_ < chain_.steps && !drawn.found) {
      if (step_ % annealing::kStepsBetweenStops == 0 && chain_.soften_ids != 0) {
        const double share = static_cast<double>(step_) / chain_.soft_steps;
        drawn.ids_share = share < 1.0 ? share : 1.0;
      }
      if (plan.draw(random_, costs.critical())) {
        drawn.found = true;
        // Metropolis: accepted with probability exp(-loss / temperature).
        drawn.limit_ms = costs.softened_cost_ms(drawn.ids_share) -
                         temperature_ms_ * natural_log(1.0 - random_.uniform());
      }
      ++step_;
      temperature_ms_ *= chain_.cooling;
    }
    return drawn;
  }

 private:
  const ChainView& chain_;
  Random random_;
  std::uint64_t step_ = 0;
  double temperature_ms_ = 0.0;
};

__device__ void keep_best(const ChainView& chain, const ChainPlan& plan, std::uint32_t slices) {
  for (auto i = static_cast<std::uint32_t>(lane_index()); i < slices; i += kWarpSize) {
    const ChainSlice& slice = plan.slice(i);
    chain.best[i] = {slice.piece, slice.table, slice.device, 0};
  }
}

// anneal() of search/improvement/annealing.cpp: a block of one warp a chain, from start to end. An
// edit depends on all before it, so a chain is bound by latency; with several on each
// multiprocessor, all of them are by instruction issue (at least 8, for which the compiler has 255
// registers). The plan stays in shared memory, its lists in L1. Nothing is written to device memory
// but those and the best plan.
__global__ void __launch_bounds__(kWarpSize, 8)
    anneal_chains_kernel(const __grid_constant__ ChainArgs args) {
  const ChainView& chain = args.chains[blockIdx.x];
  const AnnealingView task = *chain.problem;
  const bool draws = lane_index() == 0;
  ChainPlan plan(chain, task);
  if (draws) plan.begin();
  __syncwarp();
  ChainCosts costs(args, chain, task, plan);
  costs.begin();
  ChainSteps steps(chain);
  double best_ms = 0.0;
  std::uint32_t slices = chain.slices;
  std::uint32_t best_slices = 0;
  bool first = true;     // The plan is the start.
  bool at_best = false;  // The plan is the best one; chain.best need not have it yet.
  bool complete = true;
  bool price_all = true;
  for (;;) {
    for (;;) {
      if (price_all) costs.synchronize();
      const bool better =
          first || costs.cost_ms() < best_ms - annealing::kLeastGain * fabs(best_ms);
      price_all = better && !costs.exact();
      if (price_all) continue;  // Only what is exactly so is better.
      if (better) best_ms = costs.cost_ms();
      at_best = better;
      break;
    }
    if (first && draws) steps.begin(best_ms);
    first = false;
    bool accepted = false;
    while (!accepted) {
      __syncwarp();
      DrawnEdit drawn;
      if (draws) drawn = steps.next(plan, costs);
      __syncwarp();
      if (__shfl_sync(kAllLanes, drawn.found ? 1 : 0, 0) == 0) break;
      costs.set_ids_share(__shfl_sync(kAllLanes, drawn.ids_share, 0));
      accepted = costs.accepts(__shfl_sync(kAllLanes, drawn.limit_ms, 0));
    }
    if (accepted) complete = __shfl_sync(kAllLanes, draws && plan.has_room() ? 1 : 0, 0) != 0;
    if (at_best) {
      keep_best(chain, plan, slices);
      best_slices = slices;
    }
    if (!accepted || !complete) break;
    __syncwarp();
    if (draws) plan.apply();
    __syncwarp();
    slices += static_cast<std::uint32_t>(plan.edit().added_count - plan.edit().removed_count);
    price_all = costs.accept();
  }
  if (draws) {
    *chain.result = {.cost_ms = best_ms,
                     .edits = chain.steps,
                     .head_evaluations = costs.head_evaluations(),
                     .comm_evaluations = costs.comm_evaluations(),
                     .slices = best_slices,
                     .complete = complete ? 1U : 0U};
  }
}

}  // namespace

void anneal_chains(const ChainArgs& args, unsigned chains, cudaStream_t stream) {
  launch(anneal_chains_kernel, {chains, kWarpSize, args.shared_bytes}, stream, args);
}

void prepare_anneal_chains(std::size_t max_shared_bytes) {
  allow_shared_memory(anneal_chains_kernel, max_shared_bytes);
}

}  // namespace neuroshard::gpu
