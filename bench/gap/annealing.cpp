#include "bench/gap/annealing.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "bench/gap/slice_board.h"
#include "core/base/random.h"

namespace neuroshard::bench {
namespace {

using Change = SliceBoard::Change;
using Slice = SliceBoard::Slice;

/// Draws changes; half of them begin at a device that sets the cost.
class Proposals {
 public:
  Proposals(const SliceBoard& board, Random& random) : board_(board), random_(random) {}

  /// Nothing if what was drawn cannot be done.
  [[nodiscard]] std::optional<Change> draw(Move move) {
    const std::optional<std::uint32_t> index = source_slice();
    if (!index) return std::nullopt;
    const Slice& slice = board_.slices()[*index];
    Change change;
    change.removed[0] = *index;
    change.removals = 1;
    switch (move) {
      case Move::kMove: {
        const std::uint32_t to = target_device();
        if (to == slice.device) return std::nullopt;
        add(change, slice.table, slice.level, to);
        return change;
      }
      case Move::kSwap: {
        const std::uint32_t to = target_device();
        if (to == slice.device || board_.shard(to).empty()) return std::nullopt;
        const std::uint32_t other = any_of(board_.shard(to));
        const Slice& back = board_.slices()[other];
        if (back.table == slice.table && back.level == slice.level) return std::nullopt;
        remove(change, other);
        add(change, slice.table, slice.level, to);
        add(change, back.table, back.level, slice.device);
        return change;
      }
      case Move::kHalve:
        if (!board_.can_halve(slice)) return std::nullopt;
        add(change, slice.table, slice.level + 1,
            random_.below(2) == 0 ? slice.device : target_device());
        add(change, slice.table, slice.level + 1, target_device());
        return change;
      case Move::kMerge: {
        const auto alike = board_.alike(slice);
        if (slice.level == 0 || alike.size() < 2) return std::nullopt;
        const std::uint32_t other = any_of(alike);
        if (other == *index) return std::nullopt;
        remove(change, other);
        const std::uint64_t where = random_.below(3);
        add(change, slice.table, slice.level - 1,
            where == 0   ? slice.device
            : where == 1 ? board_.slices()[other].device
                         : target_device());
        return change;
      }
    }
    return std::nullopt;
  }

 private:
  static void remove(Change& change, std::uint32_t index) {
    change.removed[change.removals++] = index;
  }
  static void add(Change& change, std::uint32_t table, std::uint32_t level, std::uint32_t device) {
    change.added[change.additions++] = {.table = table, .level = level, .device = device};
  }
  std::uint32_t any_of(std::span<const std::uint32_t> indices) {
    return indices[random_.below(indices.size())];
  }
  std::uint32_t any_device() { return static_cast<std::uint32_t>(random_.below(board_.devices())); }

  // The slowest device is often one that waits; what it waits for is the device with the most
  // compute, or with the most columns.
  std::uint32_t costly_device() {
    const std::uint64_t kind = random_.below(3);
    const auto key = [&](std::uint32_t d) {
      if (kind == 0) return board_.total_ms(d);
      return static_cast<double>(kind == 1 ? board_.compute_ms(d) : board_.dim_sum(d));
    };
    std::uint32_t worst = 0;
    for (std::uint32_t d = 1; d < board_.devices(); ++d) {
      if (key(d) > key(worst)) worst = d;
    }
    return worst;
  }

  std::optional<std::uint32_t> source_slice() {
    if (random_.below(2) == 0) {
      return static_cast<std::uint32_t>(random_.below(board_.slices().size()));
    }
    const auto shard = board_.shard(costly_device());
    if (shard.empty()) return std::nullopt;
    return any_of(shard);
  }

  // Any device, or the one with less compute of two.
  std::uint32_t target_device() {
    const std::uint32_t device = any_device();
    if (random_.below(2) == 0) return device;
    const std::uint32_t other = any_device();
    return board_.compute_ms(other) < board_.compute_ms(device) ? other : device;
  }

  const SliceBoard& board_;
  Random& random_;
};

Move draw_move(Random& random) {
  const std::uint64_t percent = random.below(100);
  if (percent < 40) return Move::kMove;
  if (percent < 70) return Move::kSwap;
  return percent < 85 ? Move::kHalve : Move::kMerge;
}

void anneal_round(const CpuBackend& backend, const Task& task, std::int64_t steps, double hottest,
                  double coldest, Random& random, AnnealingResult& best) {
  SliceBoard board(backend, task, best.plan);
  Proposals proposals(board, random);
  // Models of any weights may predict costs below 0.
  const double hottest_ms = hottest * std::abs(board.cost_ms());
  const double fall = std::log(coldest / hottest);
  for (std::int64_t step = 0; step < steps; ++step) {
    const Move move = draw_move(random);
    const auto kind = static_cast<std::size_t>(move);
    const std::optional<Change> change = proposals.draw(move);
    if (!change) continue;
    ++best.tried[kind];
    const double done = static_cast<double>(step) / static_cast<double>(steps);
    const double temperature_ms = hottest_ms * std::exp(fall * done);
    // Metropolis' rule, with the random number drawn first: the limit ends most steps early.
    const double limit_ms = board.cost_ms() - temperature_ms * std::log(1.0 - random.uniform());
    if (!board.try_change(*change, limit_ms)) continue;
    board.make_change(*change);
    ++best.accepted[kind];
    if (board.cost_ms() < best.cost_ms) {
      ++best.improved[kind];
      best.cost_ms = board.cost_ms();
      best.plan = board.plan();
    }
  }
}

}  // namespace

std::string_view name_of(Move move) {
  switch (move) {
    case Move::kMove:
      return "move";
    case Move::kSwap:
      return "swap";
    case Move::kHalve:
      return "halve";
    case Move::kMerge:
      return "merge";
  }
  return "unknown";
}

AnnealingResult anneal(const CpuBackend& backend, const Task& task, const Plan& start,
                       const AnnealingOptions& options) {
  validate(start, task);
  Random random(options.seed);
  AnnealingResult result{.plan = start,
                         .cost_ms = SliceBoard(backend, task, start).cost_ms(),
                         .tried = {},
                         .accepted = {},
                         .improved = {}};
  std::int64_t done = 0;
  for (int round = 0; round < options.rounds; ++round) {
    const std::int64_t steps = options.steps * (round + 1) / options.rounds - done;
    done += steps;
    const double hottest = std::max(options.hottest * std::exp2(-round), options.coldest);
    anneal_round(backend, task, steps, hottest, options.coldest, random, result);
  }
  return result;
}

}  // namespace neuroshard::bench
