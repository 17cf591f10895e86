#include "search/task_search.h"

#include <cmath>
#include <utility>

#include "core/greedy_placement.h"
#include "search/memory_splits.h"

namespace neuroshard {

std::vector<std::int64_t> grid_dim_limits(const Task& task, int grid_steps) {
  double dim_sum = 0.0;
  for (const Table& table : task.tables) dim_sum += table.dim;
  const double mean_dim = dim_sum / task.devices;
  std::vector<std::int64_t> limits;
  for (int i = 0; i < grid_steps; ++i) {
    const double scale = grid_steps == 1 ? 1.0 : 1.0 + i * 0.5 / (grid_steps - 1);
    limits.push_back(static_cast<std::int64_t>(std::floor(scale * mean_dim)));
  }
  return limits;
}

TaskSearch::TaskSearch(const Backend& backend, const CpuBackend& cpu, const Task& task,
                       const SearchOptions& options)
    : cpu_(cpu),
      task_(task),
      options_(options),
      pool_(backend, task),
      problem_{.devices = task.devices,
               .memory_bytes = task.memory_bytes,
               .embeddings = pool_.embeddings(),
               .dims = pool_.dims(),
               .size_bytes = pool_.sizes_bytes(),
               .dim_limits = grid_dim_limits(task, options.grid_steps)},
      start_(pool_, task.tables.size()),
      infeasible_(proof_of_infeasibility(task)) {
  if (infeasible_) {
    phase_ = Phase::kFinished;
    return;
  }
  split_oversized(pool_, task.memory_bytes, start_);
  start_.append_ordered_pieces(batch_.piece_ids);
  batch_.offsets.push_back(static_cast<std::uint32_t>(batch_.piece_ids.size()));
  examined_ = 1;
}

const CandidateBatch& TaskSearch::candidates() const {
  return phase_ == Phase::kBeam ? beam_->candidates() : batch_;
}

void TaskSearch::take(std::span<const CandidateResult> results) {
  switch (phase_) {
    case Phase::kStart:
      start_beam({start_, results[0]});
      break;
    case Phase::kBeam:
      beam_->take(results);
      if (beam_->running()) {
        examined_ += beam_->candidates().size();
      } else {
        after_beam();
      }
      break;
    case Phase::kMemorySplits:
      for (std::size_t rung = 0; rung < ladder_.size(); ++rung) {
        if (std::isfinite(results[rung].cost_ms)) {
          start_beam({ladder_[rung], results[rung]});
          return;
        }
      }
      pack_without_grid();
      break;
    case Phase::kFinished:
      break;
  }
}

void TaskSearch::start_beam(ScoredState start) {
  phase_ = Phase::kBeam;
  beam_.emplace(pool_, options_, std::move(start));
  if (beam_->running()) {
    examined_ += beam_->candidates().size();
  } else {
    after_beam();
  }
}

void TaskSearch::after_beam() {
  if (std::isfinite(beam_->best().result.cost_ms)) {
    finish(beam_->best());
  } else {
    start_memory_splits();
  }
}

// The published search gives up here. Memory, or the limit on dim sums, left no room for some
// piece: make pieces smaller until they can be packed, and search on from there.
void TaskSearch::start_memory_splits() {
  ladder_ = memory_split_ladder(pool_, start_);
  if (ladder_.empty()) return pack_without_grid();
  phase_ = Phase::kMemorySplits;
  batch_.clear();
  for (const SplitState& state : ladder_) {
    state.append_ordered_pieces(batch_.piece_ids);
    batch_.offsets.push_back(static_cast<std::uint32_t>(batch_.piece_ids.size()));
  }
  examined_ += batch_.size();
}

// No placement keeps dim sums within 1.5 times the mean, e.g. one table on two devices that cannot
// be split. A plan that is valid is better than none.
void TaskSearch::pack_without_grid() {
  phase_ = Phase::kFinished;
  ladder_.insert(ladder_.begin(), start_);
  for (const SplitState& state : ladder_) {
    const auto device_of = pack_by_size(pool_, state, task_.devices, task_.memory_bytes);
    if (!device_of) continue;
    plan_.emplace();
    plan_->column_splits = state.column_splits;
    plan_->shards.resize(static_cast<std::size_t>(task_.devices));
    for (const std::uint32_t slice : state.order) {
      plan_->shards[static_cast<std::size_t>((*device_of)[slice])].push_back(
          static_cast<int>(slice));
    }
    return;
  }
  infeasible_ = packing_failure(task_, pool_, ladder_.back());
}

void TaskSearch::finish(const ScoredState& best) {
  phase_ = Phase::kFinished;
  std::vector<std::uint32_t> pieces;
  best.state.append_ordered_pieces(pieces);
  GreedyPlacement placement(cpu_.kernels(), cpu_.models().compute(), problem_);
  placement.run(pieces, problem_.dim_limits[static_cast<std::size_t>(best.result.grid_step)]);
  plan_.emplace();
  plan_->column_splits = best.state.column_splits;
  plan_->shards.resize(static_cast<std::size_t>(task_.devices));
  for (std::size_t position = 0; position < pieces.size(); ++position) {
    plan_->shards[static_cast<std::size_t>(placement.device_of()[position])].push_back(
        static_cast<int>(best.state.order[position]));
  }
}

}  // namespace neuroshard
