#include "search/neuroshard_search.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "core/tables/table_rules.h"
#include "search/baselines.h"
#include "search/improvement/annealing.h"
#include "search/improvement/tidying.h"
#include "search/infeasibility/infeasibility.h"
#include "search/placement_rules.h"
#include "search/starts/ruled_packings.h"
#include "search/starts/tight_packings.h"
#include "search/uniform_baseline.h"

namespace neuroshard {
namespace {

constexpr int kRungsOfOctave = 1;  // From a share to its half.

// Slices in all rungs of a ladder, for each table or device, whatever there is more of.
constexpr std::size_t kLadderSlices = 16;
constexpr std::size_t kLadderSlicesUnderRules = 6;  // Each costs more to place.
constexpr std::size_t kAnySlices = 1000;

// A ladder goes out whole, unless somebody waits: then in batches of about this many slices.
constexpr std::size_t kSlicesOfBatch = 2048;

// After the deadline a plan is priced and handed out, which takes so long for each of its slices.
constexpr std::chrono::nanoseconds kEndingOfSlice{50};

// The best placements of a batch of rungs that are taken up, if they beat what there is.
constexpr std::size_t kBestOfRungs = 1;

// Plans within this of the cheapest count as equal, and the one with the fewest slices is taken.
constexpr double kAboutEqual = 1.001;

// Plans kept beside the alternatives that are asked for, to improve them.
constexpr std::size_t kKept = 4;

constexpr int kWidestUniform = 256;

// Edits of the improvement; of a plan near to one that has had them; and on many devices, where
// hundreds gain nothing.
constexpr double kSteps = 500;
constexpr double kStepsAgain = 250;
constexpr double kStepsTimesDevices = 1e5;

}  // namespace

NeuroshardSearch::NeuroshardSearch(const Backend& backend, const Task& listed,
                                   CanonicalTask canonical, PieceCatalog catalog,
                                   const SearchOrder& order, Clock::time_point started)
    : backend_(backend),
      listed_(listed),
      canonical_(std::move(canonical)),
      catalog_(std::move(catalog)),
      order_(order),
      started_(started),
      starts_of_(canonical_.task_of_starts()),
      rules_(starts_of_ != nullptr ? placement_rules(catalog_, *starts_of_) : std::nullopt),
      problem_{.devices = listed.devices,
               .memory_bytes = largest_room_bytes(listed),
               .embeddings = catalog_.embeddings(),
               .dims = catalog_.dims(),
               .size_bytes = catalog_.sizes_bytes(),
               .dim_limits = ladder_dim_limits(starts_of_ != nullptr ? *starts_of_ : listed),
               .stop = &order_.stop,
               .rules = rules_ ? &*rules_ : nullptr},
      first_(starts_of_ != nullptr ? tables_to_place_first(*starts_of_) : std::vector<bool>{}),
      ids_(backend, listed.devices),
      found_(static_cast<std::size_t>(order.request.alternatives) + kKept),
      ceiling_ms_(std::numeric_limits<double>::infinity()),
      infeasible_(proof_by_memory(listed)) {
  if (infeasible_) return;
  if (order_.start != nullptr) start_near(*order_.start);
  if (!found_.empty()) return;
  if (starts_of_ == nullptr) {
    after_published();
    return;
  }
  try_heuristics();
  if (!done_early()) start_ladder();
}

const PlacementProblem& NeuroshardSearch::problem() const {
  return phase_ == Phase::kPublished ? published_->problem() : problem_;
}

const CandidateBatch& NeuroshardSearch::candidates() const {
  return phase_ == Phase::kPublished ? published_->candidates() : batch_;
}

void NeuroshardSearch::take(std::span<const CandidateResult> results, PlacementSession& session) {
  if (phase_ == Phase::kPublished) {
    published_->take(results, session);
    if (!done_early() && !published_->running()) after_published();
    return;
  }
  take_rungs(results, session);
  if (done_early()) return;
  if (next_rung_ < rungs_.size()) return request_rungs();
  after_ladder();
}

std::span<const BeamProblem> NeuroshardSearch::beams() const {
  return phase_ == Phase::kPublished ? published_->beams() : std::span<const BeamProblem>{};
}

void NeuroshardSearch::take_beams(std::span<const BeamOutcome> outcomes,
                                  PlacementSession& session) {
  published_->take_beams(outcomes, session);
  if (!done_early() && !published_->running()) after_published();
}

bool NeuroshardSearch::done_early() {
  if (!order_.stop.reached()) return false;
  complete_ = false;
  end();
  return true;
}

bool NeuroshardSearch::in_time_for(std::size_t slices) {
  if (found_.empty()) return true;
  order_.stop.keep(kEndingOfSlice * slices);
  const bool in_time = !order_.stop.reached();
  order_.stop.keep(kEndingOfSlice * found_.best().layout.size());
  return in_time;
}

void NeuroshardSearch::consider(Layout layout) {
  if (order_.equal_widths) {
    equalize_widths(catalog_, layout);
    if (exceeds_most_slices(catalog_, layout)) return;
  }
  PlanCost cost = cost_of(backend_, catalog_, canonical_.task, layout);
  // More and narrower slices may take more memory.
  if (!cost.fits_memory) return;
  if (!found_.add(std::move(layout), std::move(cost))) return;
  const FoundPlans::Found& best = found_.best();
  order_.stop.keep(kEndingOfSlice * best.layout.size());
  if (!order_.request.on_improvement) return;
  const Plan plan = plan_of_layout(best.layout);
  const std::chrono::duration<double, std::milli> elapsed = Clock::now() - started_;
  order_.request.on_improvement(
      {.plan = plan, .cost = best.cost, .elapsed_ms = elapsed.count(), .stage = stage_});
}

Plan NeuroshardSearch::plan_of_layout(const Layout& layout) const {
  if (!canonical_.has_groups()) return plan_of(catalog_, listed_, canonical_.original, layout);
  std::vector<std::uint32_t> canonical(canonical_.task.tables.size());
  std::iota(canonical.begin(), canonical.end(), 0U);
  return canonical_.plan_of_listed(plan_of(catalog_, canonical_.task, canonical, layout));
}

Layout NeuroshardSearch::layout_of_listed(const Plan& plan) const {
  constexpr std::uint32_t kNoTable = std::numeric_limits<std::uint32_t>::max();
  // Of those in a bundle, its first alone.
  std::vector<std::uint32_t> table_of(listed_.tables.size(), kNoTable);
  for (std::uint32_t t = 0; t < canonical_.original.size(); ++t) {
    table_of[canonical_.original[t]] = t;
  }
  Layout layout;
  for (std::uint32_t device = 0; device < plan.shards.size(); ++device) {
    for (const int index : plan.shards[device]) {
      const TableSlice& slice = plan.slices[static_cast<std::size_t>(index)];
      const std::uint32_t table = table_of[static_cast<std::size_t>(slice.table)];
      if (table == kNoTable) continue;
      const std::uint32_t whole = catalog_.whole(table);
      const bool bundle = !catalog_.tables_of_bundle(whole).empty();
      layout.push_back({bundle ? whole : catalog_.piece(table, slice.dim), table, device});
    }
  }
  return layout;
}

void NeuroshardSearch::consider_simple(Layout layout) {
  consider(std::move(layout));
  if (!found_.empty()) ceiling_ms_ = std::min(ceiling_ms_, found_.best().cost.cost_ms);
}

void NeuroshardSearch::start_near(const Plan& plan) {
  stage_ = SearchStage::kCoarseLadder;
  Layout layout = layout_of_listed(plan);
  sort_layout(layout);
  consider_simple(layout);
  if (found_.empty() || done_early()) return;
  if (starts_of_ == nullptr) return after_ladder();
  phase_ = Phase::kLadder;
  for (const auto order : {LadderRung::Order::kCost, LadderRung::Order::kColumns}) {
    order_slices(catalog_, order, first_, layout);
    ask_for(layout);
  }
  stats_.candidates += batch_.size();
}

void NeuroshardSearch::try_heuristics() {
  const Task& task = *starts_of_;
  int widest = 0;
  for (const Table& table : task.tables) widest = std::max(widest, table.dim);
  // Plans of few slices first, which take least time.
  for (int width = kWidestUniform; width >= kDimMultiple; width /= 2) {
    if (width / 2 >= widest) continue;  // The same as the next one.
    if (order_.stop.reached()) return;
    const auto slices = place_uniform_slices(task, width, order_.stop);
    if (slices && in_time_for(slices->size())) {
      Layout layout;
      layout.reserve(slices->size());
      for (const auto [table, device, dim] : *slices) {
        layout.push_back({catalog_.piece(table, dim), table, device});
      }
      consider_simple(std::move(layout));
    }
  }
  stage_ = SearchStage::kGreedy;
  for (const Algorithm baseline : kGreedyBaselines) {
    if (order_.stop.reached()) return;
    if (const auto plan = place_by_baseline(task, baseline, 0, order_.stop)) {
      consider_simple(layout_of(catalog_, *plan));
    }
  }
}

void NeuroshardSearch::start_ladder() {
  phase_ = Phase::kLadder;
  stage_ = SearchStage::kCoarseLadder;
  const auto devices = static_cast<std::size_t>(listed_.devices);
  const std::size_t size = std::max(canonical_.task.tables.size(), devices);
  const std::size_t slices =
      any_limits_devices(*starts_of_) ? kLadderSlicesUnderRules : kLadderSlices;
  rungs_ =
      cut_ladder(catalog_, *starts_of_, kRungsOfOctave, kAnySlices + size * slices, order_.stop);
  if (done_early()) return;
  next_rung_ = 0;
  request_rungs();
}

void NeuroshardSearch::request_rungs() {
  const bool somebody_waits = order_.stop.possible() || order_.request.on_improvement;
  batch_.clear();
  asked_.clear();
  std::size_t slices = 0;
  while (next_rung_ < rungs_.size() && (!somebody_waits || slices < kSlicesOfBatch)) {
    ask_for(ordered_slices(catalog_, rungs_[next_rung_++], first_));
    slices += asked_.back().size();
  }
  stats_.candidates += batch_.size();
  (void)done_early();
}

void NeuroshardSearch::ask_for(Layout layout) {
  std::vector<std::uint32_t> pieces;
  pieces.reserve(layout.size());
  for (const PlacedSlice& slice : layout) pieces.push_back(slice.piece);
  batch_.add(pieces);
  asked_.push_back(std::move(layout));
}

void NeuroshardSearch::take_rungs(std::span<const CandidateResult> results,
                                  PlacementSession& session) {
  std::vector<std::size_t> ranking(results.size());
  std::iota(ranking.begin(), ranking.end(), std::size_t{0});
  // Placements leave out ids, which cost about what they would if all devices got as many, or one
  // all of the heaviest piece.
  std::vector<double> cost_ms(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    cost_ms[i] = results[i].cost_ms + least_ids_ms(batch_.pieces_of(i));
  }
  const double best_ms =
      found_.empty() ? std::numeric_limits<double>::infinity() : found_.best().cost.cost_ms;
  std::erase_if(ranking, [&](std::size_t i) { return !(cost_ms[i] < best_ms); });
  std::stable_sort(ranking.begin(), ranking.end(),
                   [&](std::size_t a, std::size_t b) { return cost_ms[a] < cost_ms[b]; });
  ranking.resize(std::min(ranking.size(), kBestOfRungs));
  for (const std::size_t i : ranking) {
    const auto devices = session.assignments(batch_.pieces_of(i), results[i].limit);
    if (!devices) return;  // Stopped: it had been placed before.
    Layout& layout = asked_[i];
    for (std::size_t slice = 0; slice < layout.size(); ++slice) {
      layout[slice].device = (*devices)[slice];
    }
    if (!in_time_for(layout.size())) return;
    sort_layout(layout);
    consider(std::move(layout));
  }
}

double NeuroshardSearch::least_ids_ms(std::span<const std::uint32_t> pieces) {
  std::int64_t lookups = 0;
  std::int64_t most = 0;  // No device that has this piece has fewer.
  for (const std::uint32_t piece : pieces) {
    lookups += catalog_.lookups()[piece];
    most = std::max(most, catalog_.lookups()[piece]);
  }
  return ids_.ms(id_columns(std::max(most, lookups / listed_.devices)));
}

void NeuroshardSearch::after_ladder() {
  if (found_.empty()) return start_published();
  improve();
}

void NeuroshardSearch::start_published() {
  phase_ = Phase::kPublished;
  stage_ = SearchStage::kPublished;
  const bool groups = canonical_.has_groups();
  published_.emplace(backend_, groups ? listed_ : canonical_.task, order_.published, catalog_,
                     &order_.stop, groups ? &canonical_ : nullptr, order_.equal_widths);
  if (!published_->running()) after_published();
}

void NeuroshardSearch::after_published() {
  if (published_) {
    stats_.candidates += published_->candidates_examined();
    if (const std::optional<Plan>& plan = published_->plan()) {
      consider_simple(layout_of(catalog_, *plan));
    }
  }
  if (found_.empty()) pack_for_memory();
  if (found_.empty()) return end();
  improve();
}

// The last resort: nothing that looks at costs has found room for all tables.
void NeuroshardSearch::pack_for_memory() {
  stage_ = SearchStage::kPacking;
  TightPackings packings;
  const bool apart = !canonical_.task.groups.empty();
  if (!rules_ && !apart) packings = pack_tightly(catalog_, canonical_.task, order_.stop);
  const bool is_open = packings.layouts.empty() && !packings.impossible;
  if (is_open && (rules_ || apart || any_limits_splits(canonical_.task))) {
    packings = published_ && published_->packings()
                   ? *published_->packings()
                   : pack_under_rules(catalog_, canonical_.task, starts_of_, order_.equal_widths,
                                      order_.stop);
  }
  for (Layout& layout : packings.layouts) consider(std::move(layout));
  if (!found_.empty()) return;
  if (order_.stop.reached()) {
    complete_ = false;  // end() says that there was no time.
  } else {
    infeasible_ = packing_failure(listed_, packings.impossible);
  }
}

void NeuroshardSearch::after_improvement() {
  settle();
  end();
}

void NeuroshardSearch::improve() {
  stage_ = SearchStage::kShortImprovement;
  if (listed_.devices < 2 || order_.stop.reached()) return after_improvement();
  const double steps = std::min(order_.start != nullptr ? kStepsAgain : kSteps,
                                kStepsTimesDevices / listed_.devices);
  chain_ = {.steps = static_cast<std::uint64_t>(steps), .equal_widths = order_.equal_widths};
  // Between its steps a chain looks whether it is to stop; a launch of all of them would not.
  if (!annealing_problem_ && !order_.stop.possible()) {
    annealing_problem_ =
        neuroshard::annealing_problem(backend_, catalog_, canonical_.task, order_.equal_widths);
  }
  if (annealing_problem_ && backend_.can_anneal(*annealing_problem_)) {
    chains_.push_back(annealing_chain(found_.best().layout, chain_));
    phase_ = Phase::kImprovement;
    return;
  }
  std::optional<Annealed> outcome;
  take_chains({&outcome, 1});
}

std::span<const AnnealingChain> NeuroshardSearch::chains() const { return chains_; }

const AnnealingProblem* NeuroshardSearch::annealing_problem() const {
  return annealing_problem_ ? &*annealing_problem_ : nullptr;
}

void NeuroshardSearch::take_chains(std::span<std::optional<Annealed>> outcomes) {
  std::optional<Annealed>& outcome = outcomes.front();
  if (!outcome) {
    outcome =
        anneal(backend_, catalog_, canonical_.task, found_.best().layout, chain_, order_.stop);
  }
  chains_.clear();
  Annealed& result = *outcome;
  stats_.edits += result.edits;
  stats_.head_evaluations += result.head_evaluations;
  stats_.comm_evaluations += result.comm_evaluations;
  // Time was kept for the best plan alone.
  const bool stopped = order_.stop.reached();
  if (!stopped || result.cost_ms < found_.best().cost.cost_ms) {
    if (!stopped) sort_layout(result.layout);
    consider(std::move(result.layout));
  }
  after_improvement();
}

void NeuroshardSearch::settle() {
  const double best_ms = found_.best().cost.cost_ms;
  ceiling_ms_ = std::min(ceiling_ms_, std::max(best_ms, best_ms * kAboutEqual));
  const FoundPlans::Found* chosen = &found_.best();
  for (const FoundPlans::Found& found : found_.all()) {
    if (found.cost.cost_ms <= ceiling_ms_ && found.layout.size() < chosen->layout.size()) {
      chosen = &found;
    }
  }
  settled_ = *chosen;
  if (order_.stop.reached() || order_.start != nullptr) return;  // A start is tidy.
  Layout joined = tidied(backend_, catalog_, canonical_.task, chosen->layout, ceiling_ms_,
                         order_.stop, order_.equal_widths);
  if (joined.size() < chosen->layout.size()) {
    sort_layout(joined);
    PlanCost cost = cost_of(backend_, catalog_, canonical_.task, joined);
    if (cost.cost_ms <= ceiling_ms_) {
      settled_ = {joined, std::move(cost)};
      // Cheaper than all before, perhaps: then the next effort goes on from it.
      if (settled_->cost.cost_ms < best_ms) consider(std::move(joined));
    }
  }
  ceiling_ms_ = std::min(ceiling_ms_, settled_->cost.cost_ms);
}

void NeuroshardSearch::end() {
  phase_ = Phase::kFinished;
  if (order_.stop.reached()) complete_ = false;  // It may have cut the last improvement short.
  if (!found_.empty() && (!settled_ || found_.best().cost.cost_ms < settled_->cost.cost_ms) &&
      !complete_) {
    settled_ = found_.best();  // There is no time to settle.
  }
  if (settled_ || infeasible_) return;
  infeasible_ = nothing_in_time(listed_);
}

void NeuroshardSearch::finish(PlanResult& result) {
  result.complete = complete_;
  result.infeasible = std::move(infeasible_);
  result.stats.candidates += stats_.candidates;
  result.stats.edits += stats_.edits;
  result.stats.head_evaluations += stats_.head_evaluations;
  result.stats.comm_evaluations += stats_.comm_evaluations;
  if (!settled_) return;
  result.plan = plan_of_layout(settled_->layout);
  result.cost = std::move(settled_->cost);
  const auto wanted = static_cast<std::size_t>(order_.request.alternatives);
  for (const FoundPlans::Found& found : found_.all()) {
    if (result.alternatives.size() == wanted) break;
    if (same_plan(found.layout, settled_->layout)) continue;
    result.alternatives.push_back({plan_of_layout(found.layout), found.cost});
  }
}

}  // namespace neuroshard
