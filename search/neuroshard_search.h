#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/plans/id_exchange.h"
#include "neuroshard/backend.h"
#include "neuroshard/plan_request.h"
#include "neuroshard/search_options.h"
#include "search/canonical_task.h"
#include "search/found_plans.h"
#include "search/improvement/annealing.h"
#include "search/published_search.h"
#include "search/starts/cut_ladder.h"
#include "search/task_search.h"

namespace neuroshard {

/// What a search is told beside the task. Borrows what it refers to.
struct SearchOrder {
  bool equal_widths = false;
  const SearchOptions& published;
  const PlanRequest& request;
  StopCondition stop;  ///< The search makes it keep time to hand out the best plan.
  /// A plan for the task by halving columns: its slices, placed anew, and it itself are all that
  /// the search starts from. Null: it starts everywhere.
  const Plan* start = nullptr;
};

/// Starts of Algorithm::kNeuroshard, by halving columns: simple heuristics, a ladder of
/// cuts, a short improvement, and the published search if nothing fits otherwise. A plan once found
/// is only ever given up for one that costs no more. Of plans that cost about the same, one with
/// few slices is taken.
class NeuroshardSearch final : public TaskSearch {
 public:
  using Clock = std::chrono::steady_clock;

  /// Borrows all but `canonical` and `catalog`: the task's, with embeddings. `listed` is valid, and
  /// the models serve its device count.
  NeuroshardSearch(const Backend& backend, const Task& listed, CanonicalTask canonical,
                   PieceCatalog catalog, const SearchOrder& order, Clock::time_point started);

  [[nodiscard]] bool running() const override { return phase_ != Phase::kFinished; }
  [[nodiscard]] const PlacementProblem& problem() const override;
  [[nodiscard]] const CandidateBatch& candidates() const override;
  void take(std::span<const CandidateResult> results, PlacementSession& session) override;
  [[nodiscard]] std::span<const BeamProblem> beams() const override;
  void take_beams(std::span<const BeamOutcome> outcomes, PlacementSession& session) override;
  [[nodiscard]] std::span<const AnnealingChain> chains() const override;
  [[nodiscard]] const AnnealingProblem* annealing_problem() const override;
  void take_chains(std::span<std::optional<Annealed>> outcomes) override;
  void finish(PlanResult& result) override;

 private:
  enum class Phase { kLadder, kPublished, kImprovement, kFinished };

  void start_near(const Plan& plan);
  void try_heuristics();
  void start_ladder();
  void request_rungs();
  /// Puts the slices of `layout` into the batch, in their order.
  void ask_for(Layout layout);
  void take_rungs(std::span<const CandidateResult> results, PlacementSession& session);
  /// What ids cost at least: if the lookups of these pieces were shared out evenly, or all of the
  /// one with most of them on its device.
  [[nodiscard]] double least_ids_ms(std::span<const std::uint32_t> pieces);
  void after_ladder();
  void start_published();
  void after_published();
  void pack_for_memory();
  void improve();
  void after_improvement();
  /// Settles what the plan is.
  void settle();
  void end();

  /// Whether a plan of so many slices could be priced and handed out in time. The first one is
  /// wanted in any case.
  [[nodiscard]] bool in_time_for(std::size_t slices);
  void consider(Layout layout);
  /// Of the listed task.
  [[nodiscard]] Plan plan_of_layout(const Layout& layout) const;
  [[nodiscard]] Layout layout_of_listed(const Plan& plan) const;
  /// The simple way to a plan, which ours never exceeds in cost.
  void consider_simple(Layout layout);
  [[nodiscard]] bool done_early();

  const Backend& backend_;
  const Task& listed_;
  CanonicalTask canonical_;
  PieceCatalog catalog_;
  SearchOrder order_;
  Clock::time_point started_;

  Phase phase_ = Phase::kFinished;
  SearchStage stage_ = SearchStage::kUniform;
  const Task* starts_of_;  ///< What starts are made for; null: see BundledTask::task_of_starts().
  std::optional<PlacementRules> rules_;
  PlacementProblem problem_;  ///< Of the ladder.
  std::vector<bool> first_;   ///< Tables that it places first.
  std::vector<LadderRung> rungs_;
  std::size_t next_rung_ = 0;  ///< The first one that has not been asked for.
  std::vector<Layout> asked_;  ///< Of the current batch.
  CandidateBatch batch_;
  std::optional<PublishedSearch> published_;

  IdExchange ids_;
  FoundPlans found_;
  std::optional<FoundPlans::Found> settled_;
  double ceiling_ms_;  ///< No plan that is returned costs more.
  AnnealingOptions chain_;
  std::vector<AnnealingChain> chains_;  ///< `chain_`, for the backend.
  std::optional<AnnealingProblem> annealing_problem_;
  bool complete_ = true;
  std::optional<Infeasibility> infeasible_;
  SearchStats stats_;
};

}  // namespace neuroshard
