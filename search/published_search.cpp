#include "search/published_search.h"

#include <cmath>
#include <utility>

#include "core/tables/table_rules.h"
#include "neuroshard/column_halvings.h"
#include "search/apart_devices.h"
#include "search/baselines.h"
#include "search/infeasibility/infeasibility.h"
#include "search/memory_splits.h"
#include "search/placement_rules.h"
#include "search/starts/room_search.h"

namespace neuroshard {

std::vector<std::int64_t> grid_dim_limits(const Task& task, int grid_steps) {
  double dim_sum = 0.0;
  for (const Table& table : task.tables) dim_sum += output_columns(table, table.dim);
  const double mean_dim = dim_sum / task.devices;
  std::vector<std::int64_t> limits;
  limits.reserve(static_cast<std::size_t>(grid_steps));
  for (int i = 0; i < grid_steps; ++i) {
    const double scale = grid_steps == 1 ? 1.0 : 1.0 + i * 0.5 / (grid_steps - 1);
    limits.push_back(static_cast<std::int64_t>(std::floor(scale * mean_dim)));
  }
  return limits;
}

PublishedSearch::PublishedSearch(const Backend& backend, const Task& task,
                                 const SearchOptions& options, const PieceCatalog& catalog,
                                 const StopCondition* stop, const BundledTask* bundled)
    : backend_(backend),
      task_(task),
      bundled_(bundled),
      searched_(bundled != nullptr ? bundled->task : task),
      options_(options),
      catalog_(catalog),
      problem_{.devices = task.devices,
               .memory_bytes = std::ranges::max(even_rooms_bytes(task)),
               .embeddings = catalog_.embeddings(),
               .dims = catalog_.columns(),
               .size_bytes = catalog_.sizes_bytes(),
               .dim_limits = grid_dim_limits(task, options.grid_steps),
               .stop = stop},
      infeasible_(proof_by_memory(task)) {
  if (infeasible_) {
    phase_ = Phase::kFinished;
    return;
  }
  std::optional<Task> apart;
  if (!searched_.groups.empty()) {
    apart = with_devices_of_apart_tables(searched_, this->stop());
    if (!apart) {
      phase_ = Phase::kFinished;
      look_for_room();
      return;
    }
  }
  rules_ = placement_rules(catalog, apart ? *apart : searched_);
  if (rules_) problem_.rules = &*rules_;
  starts_.emplace_back(catalog_, searched_.tables.size());
  if (options.memory_splits) {
    SplitState forced = starts_.front();
    split_oversized(catalog_, problem_.memory_bytes, forced);
    if (!forced.column_splits.empty()) starts_.push_back(std::move(forced));
  }
  request(starts_);
  for (const SplitState& start : starts_) {
    beams_.push_back({.pieces = start.pieces,
                      .order = start.order,
                      .piece_cost_ms = catalog_.costs_ms(),
                      .may_halve = catalog_.can_split_all(),
                      .beam_width = options.beam_width,
                      .candidates = options.candidates,
                      .max_splits = options.max_splits});
  }
}

void PublishedSearch::request(const std::vector<SplitState>& states) {
  batch_.clear();
  for (const SplitState& state : states) {
    state.append_ordered_pieces(batch_.piece_ids);
    batch_.offsets.push_back(static_cast<std::uint32_t>(batch_.piece_ids.size()));
  }
  examined_ += states.size();
}

const CandidateBatch& PublishedSearch::candidates() const {
  return phase_ == Phase::kBeam ? beam_->candidates() : batch_;
}

void PublishedSearch::take(std::span<const CandidateResult> results, PlacementSession& session) {
  switch (phase_) {
    case Phase::kStart:
      for (std::size_t i = starts_.size(); i-- > 0;) pending_.push_back({starts_[i], results[i]});
      next_beam(session);
      break;
    case Phase::kBeam:
      beam_->take(results);
      examined_ += beam_->candidates().size();
      if (!beam_->running()) after_beam(session);
      break;
    case Phase::kMemorySplits:
      for (std::size_t rung = 0; rung < ladder_.size(); ++rung) {
        if (std::isfinite(results[rung].cost_ms)) {
          pending_.push_back({ladder_[rung], results[rung]});
          return next_beam(session);
        }
      }
      pack_without_grid();
      break;
    case Phase::kFinished:
      break;
  }
}

void PublishedSearch::next_beam(PlacementSession& session) {
  phase_ = Phase::kBeam;
  beam_.emplace(catalog_, options_, std::move(pending_.back()));
  pending_.pop_back();
  examined_ += beam_->candidates().size();
  if (!beam_->running()) after_beam(session);
}

void PublishedSearch::after_beam(PlacementSession& session) {
  keep_best(beam_->best());
  if (!pending_.empty()) return next_beam(session);
  after_beams(session);
}

std::span<const BeamProblem> PublishedSearch::beams() const {
  return phase_ == Phase::kStart ? std::span(beams_) : std::span<const BeamProblem>{};
}

void PublishedSearch::take_beams(std::span<const BeamOutcome> outcomes, PlacementSession& session) {
  for (std::size_t i = 0; i < starts_.size(); ++i) {
    examined_ += outcomes[i].candidates - 1;  // The first one was counted when it was handed out.
    ScoredState found{starts_[i], outcomes[i].result};
    for (const int slice : outcomes[i].column_splits) {
      found.state.split(catalog_, static_cast<std::uint32_t>(slice));
    }
    keep_best(std::move(found));
  }
  after_beams(session);
}

void PublishedSearch::keep_best(ScoredState found) {
  if (!best_ || found.result.cost_ms < best_->result.cost_ms) best_ = std::move(found);
}

void PublishedSearch::after_beams(PlacementSession& session) {
  if (std::isfinite(best_->result.cost_ms)) return take_winner(session);
  if (options_.memory_splits) return start_memory_splits();
  phase_ = Phase::kFinished;
  infeasible_ = failure_without_memory_splits(task_);
}

// The published search gives up here. Memory, or the limit on dim sums, left no room for some
// piece: make pieces smaller until they can be packed, and search on from there.
void PublishedSearch::start_memory_splits() {
  ladder_ = memory_split_ladder(catalog_, starts_.back(), problem_.stop);
  if (ladder_.empty()) return pack_without_grid();
  phase_ = Phase::kMemorySplits;
  request(ladder_);
}

// No placement keeps dim sums within 1.5 times the mean, e.g. one table on two devices that cannot
// be split. A plan that is valid is better than none.
void PublishedSearch::pack_without_grid() {
  phase_ = Phase::kFinished;
  ladder_.insert(ladder_.begin(), starts_.back());
  for (const SplitState& state : ladder_) {
    if (stop().reached()) return;
    const auto device_of =
        pack_by_size(catalog_, state, task_.devices, problem_.memory_bytes, problem_.rules, stop());
    if (!device_of) continue;
    return set_plan(state, [&](std::size_t i) { return (*device_of)[state.order[i]]; });
  }
  if (problem_.rules != nullptr || any_limits_splits(searched_)) {
    return look_for_room();
  }
  infeasible_ = packing_failure(task_, false);
}

void PublishedSearch::look_for_room() {
  RoomFound found =
      find_room(backend_, task_, {.rows = false, .replicas = false, .halves = true}, stop());
  if (found.plan) {
    plan_ = bundled_ != nullptr ? bundled_->plan_of_task(*found.plan) : *std::move(found.plan);
  } else if (!stop().reached()) {
    infeasible_ = packing_failure(task_, found.impossible);
  }
}

void PublishedSearch::take_winner(PlacementSession& session) {
  const ScoredState& best = *best_;
  phase_ = Phase::kFinished;
  std::vector<std::uint32_t> pieces;
  best.state.append_ordered_pieces(pieces);
  const auto devices = session.assignments(pieces, best.result.limit);
  if (!devices) return;  // Stopped.
  set_plan(best.state, [&](std::size_t position) { return (*devices)[position]; });
}

template <typename DeviceOf>
void PublishedSearch::set_plan(const SplitState& state, const DeviceOf& device_of) {
  plan_.emplace();
  plan_->slices = split_columns(searched_, state.column_splits);
  plan_->shards.resize(static_cast<std::size_t>(task_.devices));
  for (std::size_t i = 0; i < state.order.size(); ++i) {
    plan_->shards[static_cast<std::size_t>(device_of(i))].push_back(
        static_cast<int>(state.order[i]));
  }
}

void PublishedSearch::finish(PlanResult& result) {
  result.stats.candidates += examined_;
  result.plan = std::move(plan_);
  result.infeasible = std::move(infeasible_);
  if (result.plan && bundled_ != nullptr) result.plan = bundled_->plan_of_listed(*result.plan);
  if (result.plan) price_if_it_fits(backend_, task_, Algorithm::kPublished, result);
}

}  // namespace neuroshard
