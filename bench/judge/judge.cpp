#include "bench/judge/judge.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "bench/stopwatch.h"

namespace neuroshard::bench {
namespace {

/// How all slices of a table lie.
enum class Lie { kInGroups, kReplica, kAsGiven };

struct Piece {
  int width;
  int place;  ///< A group of devices.
};

struct TableLie {
  Lie lie = Lie::kInGroups;
  int group = 1;  ///< Devices side by side that share the rows of a slice in equal blocks.
  std::vector<Piece> pieces;
  std::vector<std::pair<TableSlice, int>> given;  ///< Slices of kAsGiven, with devices.
};

using Lies = std::vector<TableLie>;

class Judge {
 public:
  Judge(const Task& task, std::uint64_t seed) : task_(task), random_(seed, 71) {
    const int node = std::min(task.devices_per_node, task.devices);
    for (int group = 1; group <= node && task.devices % node == 0; ++group) {
      if (node % group == 0) groups_.push_back(group);
    }
    groups_.push_back(1);
    groups_.push_back(task.devices);
    std::ranges::sort(groups_);
    groups_.erase(std::unique(groups_.begin(), groups_.end()), groups_.end());
  }

  Lies read(const Plan& plan) const;
  Plan write(const Lies& lies) const;
  /// A change of one or two tables. False: nothing came of it.
  bool change(Lies& lies, const PlanCost& cost);

  Random& random() { return random_; }

 private:
  [[nodiscard]] int below(int bound) {
    return static_cast<int>(random_.below(static_cast<std::uint64_t>(bound)));
  }
  [[nodiscard]] int places(const TableLie& table) const { return task_.devices / table.group; }
  /// The better of two places at random, by what devices do.
  [[nodiscard]] int good_place(const TableLie& table, const PlanCost& cost);
  void add_blocks(Plan& plan, TableSlice slice, int first, int count) const;
  bool other_lie(TableLie& table, std::size_t index, const PlanCost& cost);
  bool swap(Lies& lies, TableLie& table);

  const Task& task_;
  Random random_;
  std::vector<int> groups_;  ///< Sizes that groups may have, in ascending order.
};

void Judge::add_blocks(Plan& plan, TableSlice slice, int first, int count) const {
  const std::int64_t rows = slice.rows;
  const std::int64_t of_block = (rows + count - 1) / count;
  for (int i = 0; i * of_block < rows; ++i) {
    slice.first_row = i * of_block;
    slice.rows = std::min(of_block, rows - slice.first_row);
    const std::size_t device = static_cast<std::size_t>(first) + static_cast<std::size_t>(i);
    plan.shards[device].push_back(static_cast<int>(plan.slices.size()));
    plan.slices.push_back(slice);
  }
}

Plan Judge::write(const Lies& lies) const {
  Plan plan;
  plan.shards.resize(static_cast<std::size_t>(task_.devices));
  for (std::size_t t = 0; t < lies.size(); ++t) {
    const TableLie& table = lies[t];
    const std::int64_t rows = task_.tables[t].rows;
    TableSlice slice{.table = static_cast<int>(t), .rows = rows};
    if (table.lie == Lie::kReplica) plan.replicas.push_back(slice.table);
    for (const auto& [width, place] : table.pieces) {
      slice.dim = width;
      add_blocks(plan, slice, place * table.group, table.group);
      slice.first_column += width;
    }
    for (const auto& [given, device] : table.given) {
      plan.shards[static_cast<std::size_t>(device)].push_back(static_cast<int>(plan.slices.size()));
      plan.slices.push_back(given);
    }
  }
  return plan;
}

Lies Judge::read(const Plan& plan) const {
  Lies lies(task_.tables.size());
  for (const int t : plan.replicas) lies[static_cast<std::size_t>(t)].lie = Lie::kReplica;
  std::vector<std::vector<std::pair<TableSlice, int>>> held(lies.size());
  for (std::size_t d = 0; d < plan.shards.size(); ++d) {
    for (const int index : plan.shards[d]) {
      const TableSlice& slice = plan.slices[static_cast<std::size_t>(index)];
      held[static_cast<std::size_t>(slice.table)].emplace_back(slice, static_cast<int>(d));
    }
  }
  for (std::size_t t = 0; t < lies.size(); ++t) {
    const std::int64_t rows = task_.tables[t].rows;
    TableLie& table = lies[t];
    std::ranges::sort(held[t], {}, [](const auto& one) { return one.first.first_column; });
    const bool whole =
        std::ranges::all_of(held[t], [&](const auto& one) { return one.first.rows == rows; });
    if (whole) {
      for (const auto& [slice, device] : held[t]) table.pieces.push_back({slice.dim, device});
      continue;
    }
    // Blocks are what they are if they are written again as they were.
    const auto in_groups = [&](int group) {
      TableLie guess{.group = group, .pieces = {}, .given = {}};
      for (const auto& [slice, device] : held[t]) {
        if (slice.first_row == 0) guess.pieces.push_back({slice.dim, device / group});
      }
      Lies alone(lies.size(), TableLie{.lie = Lie::kReplica, .pieces = {}, .given = {}});
      alone[t] = guess;
      const Plan again = write(alone);
      std::size_t found = 0;
      for (std::size_t d = 0; d < again.shards.size(); ++d) {
        for (const int index : again.shards[d]) {
          const std::pair one(again.slices[static_cast<std::size_t>(index)], static_cast<int>(d));
          found += std::ranges::count(held[t], one) == 1 ? 1 : 0;
        }
      }
      if (found != held[t].size() || found != again.slices.size()) return false;
      table = guess;
      return true;
    };
    if (std::any_of(groups_.rbegin(), groups_.rend(), in_groups)) continue;
    table.lie = Lie::kAsGiven;
    table.given = held[t];
  }
  return lies;
}

int Judge::good_place(const TableLie& table, const PlanCost& cost) {
  const int a = below(places(table));
  const int b = below(places(table));
  const auto done_ms = [&](int place) {
    return cost.devices[static_cast<std::size_t>(place) * static_cast<std::size_t>(table.group)]
        .compute_ms;
  };
  return done_ms(a) <= done_ms(b) ? a : b;
}

bool Judge::other_lie(TableLie& table, std::size_t index, const PlanCost& cost) {
  const Table& of = task_.tables[index];
  table.pieces.clear();
  const double u = random_.uniform();
  if (u < 0.25) {
    table.lie = Lie::kReplica;
    return true;
  }
  table.lie = Lie::kInGroups;
  table.group = u < 0.5 || of.rows < 2 ? 1 : groups_[random_.below(groups_.size())];
  if (table.group == task_.devices) {
    table.pieces = {{of.dim, 0}};
    return true;
  }
  const int units = of.dim / kDimMultiple;
  const int most = std::min(units, 2 * places(table));
  const int count = 1 + static_cast<int>(std::pow(random_.uniform(), 3.0) * most);
  for (int i = 0; i < std::min(count, most); ++i) {
    const int parts = std::min(count, most);
    table.pieces.push_back(
        {kDimMultiple * (units / parts + (i < units % parts ? 1 : 0)), good_place(table, cost)});
  }
  return true;
}

bool Judge::swap(Lies& lies, TableLie& table) {
  TableLie& other = lies[random_.below(lies.size())];
  if (other.group != table.group || other.pieces.empty()) return false;
  std::swap(table.pieces[random_.below(table.pieces.size())].place,
            other.pieces[random_.below(other.pieces.size())].place);
  return true;
}

bool Judge::change(Lies& lies, const PlanCost& cost) {
  const std::size_t index = random_.below(lies.size());
  TableLie& table = lies[index];
  if (table.lie == Lie::kAsGiven) return false;
  if (random_.uniform() < 0.1) return other_lie(table, index, cost);
  if (table.pieces.empty() || table.group == task_.devices) return false;
  Piece& piece = table.pieces[random_.below(table.pieces.size())];
  const int units = piece.width / kDimMultiple;
  switch (below(6)) {
    case 0:
    case 1:
      return swap(lies, table);
    case 2: {  // Split.
      if (units < 2) return false;
      const int width = kDimMultiple * (1 + below(units - 1));
      piece.width -= width;
      table.pieces.push_back({width, good_place(table, cost)});
      return true;
    }
    case 3:
    case 4: {  // Join, or hand columns on.
      Piece& other = table.pieces[random_.below(table.pieces.size())];
      if (&other == &piece) return false;
      const int width = units > 1 && random_.uniform() < 0.6 ? kDimMultiple * (1 + below(units - 1))
                                                             : piece.width;
      other.width += width;
      piece.width -= width;
      std::erase_if(table.pieces, [](const Piece& one) { return one.width == 0; });
      return true;
    }
    default:
      piece.place = good_place(table, cost);
      return true;
  }
}

}  // namespace

Judged judge(const Task& task, const Plan& start, const PlanPrice& price,
             const JudgeOptions& options) {
  Judge judge(task, options.seed);
  Lies lies = judge.read(start);
  PlanCost cost = price(judge.write(lies));
  Judged best{.plan = start, .cost_ms = cost.cost_ms};
  const Stopwatch watch;
  for (int round = 0; round < options.rounds; ++round) {
    lies = judge.read(best.plan);
    cost = price(best.plan);
    for (double left = 1.0; left > 0.0;) {
      const double spent = watch.elapsed().cpu_ms / (1e3 * options.seconds) * options.rounds;
      left = round + 1.0 - spent;
      const double temperature_ms =
          best.cost_ms * options.coldest *
          std::pow(options.hottest / (round + 1) / options.coldest, std::clamp(left, 0.0, 1.0));
      for (int step = 0; step < 16; ++step) {
        Lies changed = lies;
        if (!judge.change(changed, cost)) continue;
        const Plan plan = judge.write(changed);
        PlanCost changed_cost = price(plan);
        ++best.priced;
        if (!changed_cost.fits_memory ||
            changed_cost.cost_ms - cost.cost_ms >
                -temperature_ms * std::log(judge.random().uniform() + 1e-300)) {
          continue;
        }
        lies = std::move(changed);
        cost = std::move(changed_cost);
        if (cost.cost_ms < best.cost_ms) {
          best.cost_ms = cost.cost_ms;
          best.plan = plan;
        }
      }
    }
  }
  return best;
}

}  // namespace neuroshard::bench
