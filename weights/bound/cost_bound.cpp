#include "neuroshard/cost_bound.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <optional>
#include <vector>

#include "core/base/count_up.h"
#include "core/base/step_budget.h"
#include "core/plans/deduplicated_task.h"
#include "neuroshard/error.h"
#include "neuroshard/plan_check.h"
#include "weights/bound/least_sizes.h"
#include "weights/bound/phases.h"
#include "weights/bound/table_pieces.h"
#include "weights/bound/weight_game.h"
#include "weights/collection/analytic_comm.h"
#include "weights/collection/analytic_compute.h"
#include "weights/collection/analytic_plan_cost.h"

namespace neuroshard {
namespace {

/// Whatever a plan has, it is from `low` to `high`.
struct Range {
  double low = 0.0;
  double high = 0.0;
  double ms = 0.0;    ///< Time that all wait for each.
  double step = 0.0;  ///< 0: it may be any number.

  /// How much longer all may wait than for the least.
  [[nodiscard]] double width_ms() const { return ms > 0.0 ? ms * (high - low) : 0.0; }
  [[nodiscard]] double waiting_ms() const { return ms * low; }
};

/// Columns of the device with most; its ids, in columns that are as many bytes; milliseconds of
/// replicas.
struct Box {
  Range columns;
  Range ids;
  Range replicas;
  /// Weights that showed most of a box that this is part of.
  ClassResources weights{};

  [[nodiscard]] double waiting_ms() const {
    return columns.waiting_ms() + ids.waiting_ms() + replicas.waiting_ms();
  }
};

/// How closely to look: at sums of sizes, of mapped sizes, or in boxes.
enum class Look { kSums, kMapped, kBoxes };

class BoundSearch {
 public:
  BoundSearch(const GpuSpec& gpu, const NetworkSpec& network, const Task& task)
      : task_(task),
        tables_(table_pieces(gpu, network, task)),
        devices_(alike_devices(task)),
        phases_(phases_of(network, task)),
        fixed_ms_(operator_fixed_ms(gpu)),
        uses_(tables_.size()) {
    weights_.fill({0.3, 0.3, 0.1, 0.1, 0.1, 0.1});
    for (TablePieces& table : tables_) {
      for (std::size_t c = 0; c < table.replicas.size(); ++c) {
        if (table.replicas[c]) replicas_[c].add(*table.replicas[c], table.tables);
      }
      bit_ms_ += table.tables * table.slices.front().back().ms_per_bit / task.devices;
      all_tables_ += table.tables;
      column_step_ = std::gcd(column_step_, table.column_step);
    }
    for (TablePieces& table : tables_) {
      for (std::size_t c = 0; c < table.replicas.size(); ++c) {
        if (table.replicas[c]) table.replicas[c]->once_ms -= replicas_[c].once_ms;
      }
    }
  }

  /// Whether no plan with any slices takes so long, or less, as far as a look shows. Nothing is
  /// shown any more once so many steps are taken.
  [[nodiscard]] bool impossible(double ms, Look look) {
    if (steps_.spent()) return false;
    std::vector<std::optional<std::size_t>> cases{std::nullopt};
    for (std::size_t c = classes_.begin; c < classes_.end; ++c) {
      if (replicas_[c].once_ms < kInfinity) cases.emplace_back(c);
    }
    // Look first at those that were possible before.
    std::stable_partition(cases.begin(), cases.end(),
                          [&](const auto& one) { return one == possible_; });
    return std::ranges::all_of(cases, [&](const std::optional<std::size_t>& replicas) {
      if (impossible(ms, replicas, look)) return true;
      possible_ = replicas;
      return false;
    });
  }

  /// Looks at classes of devices from now on, if slices may be of more than one.
  bool distinguish_widths() {
    const auto of_tables = [&](std::size_t c) {
      return std::ranges::any_of(tables_, [&](const TablePieces& table) {
        return kDimMultiple * static_cast<int>(table.slices.front().size()) >=
               kWidthClasses[c].least;
      });
    };
    std::size_t end = 2;
    while (end < kWidthClasses.size() && of_tables(end)) ++end;
    if (end == 2) return false;
    classes_ = {.begin = 1, .end = end};
    weights_.fill(weights_.front());
    return true;
  }

  /// Lookups that a device may have for their bits to count fully, of the mean: Sizing::bit_ms.
  void set_bits(double of_mean) { bits_ = of_mean; }

  /// Where devices have few tables, it matters which pieces there can be.
  [[nodiscard]] bool has_few_tables() const {
    return all_tables_ <= kFewTablesOfDevice * task_.devices;
  }
  [[nodiscard]] bool is_tiny() const { return all_tables_ <= kTinyTables; }

 private:
  static constexpr int kFewTablesOfDevice = 8;
  static constexpr int kTinyTables = 4;
  static constexpr int kMostWeights = 100;
  static constexpr std::uint64_t kMostSteps = 8'000'000'000;

  /// Boxes take longer where kinds of tables are many, and where devices are of classes.
  [[nodiscard]] int most_boxes() const {
    const int kinds = static_cast<int>(tables_.size());
    return classes_.begin == 0 ? std::clamp(100'000 / kinds, 20, 2000)
                               : std::clamp(3000 / kinds, 5, 60);
  }

  /// Tables that may be replicas beside those of a class.
  struct Replicas {
    double once_ms = kInfinity;  ///< The least of any.
    double ms = 0.0;             ///< All together.

    void add(const ReplicaPiece& replica, int tables) {
      once_ms = std::min(once_ms, replica.once_ms);
      ms += tables * replica.ms;
    }
  };

  static std::vector<AlikeDevices> alike_devices(const Task& task) {
    std::vector<AlikeDevices> all;
    for (std::size_t d = 0; d < static_cast<std::size_t>(task.devices); ++d) {
      AlikeDevices device{.bytes = static_cast<double>(room_bytes(task, d))};
      if (!task.device_list.empty()) {
        device.speed = task.device_list[d].speed;
        device.base_ms = task.device_list[d].base_ms;
      }
      const auto alike = std::ranges::find_if(all, [&](const AlikeDevices& one) {
        return one.speed == device.speed && one.base_ms == device.base_ms &&
               one.bytes == device.bytes;
      });
      alike == all.end() ? all.push_back(device) : void(++alike->devices);
    }
    return all;
  }

  bool impossible(double ms, std::optional<std::size_t> replicas, Look look) {
    return std::ranges::any_of(phases_, [&](const Phases& phases) {
      const double left_ms = std::max(0.0, ms - phases.constant_ms);
      const auto range = [&](const ExchangeLine& line, double step) {
        // Ranges end at steps: one between two would be halved into an empty one.
        const double most = line.mean_column_ms > 0.0
                                ? step * (std::floor(left_ms / (step * line.mean_column_ms)) + 1.0)
                                : kInfinity;
        return Range{
            .high = most, .ms = line.mean_column_ms, .step = phases.is_mean() ? 0.0 : step};
      };
      Box box{.columns = range(phases.columns, column_step_),
              .ids = range(phases.ids, 1.0),
              .replicas = {},
              .weights = weights_};
      if (replicas && phases.compute > 0.0) {
        box.replicas = {.high = std::min(left_ms, replicas_[*replicas].ms), .ms = 1.0};
      }
      int left = most_boxes();
      return impossible(ms, phases, replicas, look, box, left);
    });
  }

  /// Looks at no more boxes than are `left`.
  bool impossible(double ms, const Phases& phases, std::optional<std::size_t> replicas, Look look,
                  Box box, int& left) {
    const bool map_sizes = look == Look::kMapped || (look == Look::kBoxes && is_tiny());
    if (lacks_room(ms, phases, replicas, box, map_sizes)) return true;
    if (look != Look::kBoxes || --left <= 0) return false;
    Range Box::*split = &Box::columns;
    for (Range Box::*const other : {&Box::ids, &Box::replicas}) {
      if ((box.*other).width_ms() > (box.*split).width_ms()) split = other;
    }
    Range& range = box.*split;
    if (range.width_ms() <= (is_tiny() ? 1e-6 : 1e-3) * ms) return false;
    Box upper = box;
    range.high = 0.5 * (range.low + range.high);
    if (range.step > 0.0) range.high = range.step * std::floor(range.high / range.step);
    (upper.*split).low = range.high + range.step;
    return impossible(ms, phases, replicas, look, box, left) &&
           impossible(ms, phases, replicas, look, upper, left);
  }

  /// Keeps the best weights.
  bool lacks_room(double ms, const Phases& phases, std::optional<std::size_t> replicas, Box& box,
                  bool map_sizes) {
    std::optional<Sizing> sizing = sizing_of(ms, phases, replicas, box);
    if (!sizing) return true;
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      LeastSizes::measure(tables_[i], *sizing, uses_[i]);
    }
    sizing->weights = box.weights;
    if (find_weights(*sizing)) return true;
    weights_ = box.weights = sizing->weights;
    if (!map_sizes || phases.is_mean()) return false;
    ClassResources time_alone;
    time_alone.fill({1.0});
    ClassResources slices_alone;
    slices_alone.fill({0.0, 1.0});
    for (const ClassResources& weights : {box.weights, time_alone, slices_alone}) {
      if (maps_lack_room(*sizing, weights)) return true;
    }
    return false;
  }

  bool maps_lack_room(Sizing& sizing, const ClassResources& weights) {
    for (const double as_is : {0.0, 0.4, 0.8}) {
      for (int parts = 1; parts <= 5; ++parts) {
        sizing.map = {.parts = parts, .as_is = as_is};
        if (lacks_room(sizing, weights)) return true;
      }
      for (const double rest : {0.15, 0.3, 0.45}) {
        sizing.map = {.rest = rest, .as_is = as_is};
        if (lacks_room(sizing, weights)) return true;
      }
    }
    return false;
  }

  bool lacks_room(Sizing& sizing, const ClassResources& weights) {
    sizing.weights = weights;
    return lack(sizing).size > kBoundTolerance;
  }

  /// Looks for weights by which there is too little room. No weights show more lack than any ways
  /// have by them: the next ones are those that show most by all ways that were least so far
  /// (cutting planes, Kelley 1960).
  bool find_weights(Sizing& sizing) {
    ClassResources best = sizing.weights;
    double most = -kInfinity;
    std::vector<ClassResources> lacks;
    for (int tried = 0; tried < kMostWeights && !steps_.spent(); ++tried) {
      const LeastSize lacking = lack(sizing);
      if (lacking.size > kBoundTolerance) return true;
      if (lacking.size > most) {
        most = lacking.size;
        best = sizing.weights;
      }
      lacks.push_back(lacking.used);
      const GameSolution game = best_weights(lacks, classes_);
      if (game.value <= std::max(most, 0.0) + 1e-7) break;
      // Half-way to the best so far, since the solution is of few uses at first.
      for (std::size_t c = classes_.begin; c < classes_.end; ++c) {
        for (std::size_t i = 0; i < best[c].size(); ++i) {
          sizing.weights[c][i] = std::midpoint(best[c][i], game.weights[c][i]);
        }
      }
    }
    sizing.weights = best;
    return false;
  }

  /// Measures pieces for an iteration that takes so long. Nothing: it cannot.
  [[nodiscard]] std::optional<Sizing> sizing_of(double ms, const Phases& phases,
                                                std::optional<std::size_t> replicas,
                                                const Box& box) const {
    double slowest = kInfinity;
    double base_ms = 0.0;
    double least_used_ms = kInfinity;
    for (const AlikeDevices& alike : devices_) {
      slowest = std::min(slowest, alike.speed);
      base_ms = std::max(base_ms, alike.base_ms);
      least_used_ms = std::min(least_used_ms, alike.base_ms + fixed_ms_ / alike.speed);
    }
    double left_ms = ms - phases.constant_ms;
    if (replicas) left_ms -= phases.compute * (fixed_ms_ / slowest + replicas_[*replicas].once_ms);
    const double waiting_ms = box.waiting_ms();
    // Some device has slices.
    const double shared_ms =
        left_ms - waiting_ms - phases.compute * std::max(base_ms, least_used_ms);
    if (shared_ms < 0.0) return std::nullopt;
    if (phases.compute == 0.0) slowest = 1.0;
    const bool is_mean = phases.is_mean();
    const auto own_ms = [&](const ExchangeLine& line) {
      return slowest * (is_mean ? line.mean_column_ms : line.column_ms);
    };
    Sizing sizing{.compute = phases.compute,
                  .column_ms = own_ms(phases.columns),
                  .id_ms = own_ms(phases.ids),
                  .most = {0.0, phases.compute > 0.0 ? 0.0 : kInfinity,
                           box.replicas.ms > 0.0 ? box.replicas.high : kInfinity,
                           std::max(box.columns.high, 0.5), std::max(box.ids.high, 0.5), 1.0},
                  .classes = classes_,
                  .most_of_mean = is_mean ? phases.most_of_mean() : 1.0,
                  .replicas = replicas,
                  .devices = devices_};
    for (AlikeDevices& alike : sizing.devices) {
      if (phases.compute == 0.0) alike.speed = 1.0;
      const auto for_pieces = [&](double device_ms) {
        return std::max(0.0, alike.speed * (device_ms - phases.compute * alike.base_ms) -
                                 phases.compute * fixed_ms_);
      };
      alike.ms = for_pieces(left_ms);
      alike.slices_ms = for_pieces(left_ms - waiting_ms);
      // A device without slices has no operator on them.
      if (replicas) alike.ms = std::max(alike.ms, alike.speed * (shared_ms + waiting_ms));
      sizing.most[kTime] = std::max(sizing.most[kTime], alike.ms);
      sizing.most[kSlices] = std::max(sizing.most[kSlices], alike.slices_ms);
      sizing.most[kBytes] = std::max(sizing.most[kBytes], alike.bytes);
    }
    if (bits_ > 0.0) sizing.set_bits_of(bits_ * bit_ms_);
    return sizing;
  }

  /// By how much more than all devices have the least sizes of all tables are; and what they use,
  /// beyond what there is, by device.
  [[nodiscard]] LeastSize lack(const Sizing& sizing) {
    LeastSize needed{.size = 0.0};
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      (void)steps_.take(LeastSizes::steps_of(tables_[t], sizing));
      const LeastSize least = least_.of(tables_[t], uses_[t], sizing);
      if (least.size == kInfinity) return {};
      needed.size += tables_[t].tables * least.size;
      for (std::size_t c = classes_.begin; c < classes_.end; ++c) {
        add(least.used[c], tables_[t].tables, needed.used[c]);
      }
    }
    double room = 0.0;
    for (const AlikeDevices& alike : sizing.devices) {
      const Resources of_device = sizing.room_of(alike);
      // A device may be of the class by which it has most room.
      double most = -kInfinity;
      std::size_t of_class = classes_.begin;
      for (std::size_t c = classes_.begin; c < classes_.end; ++c) {
        const double weighed =
            std::inner_product(of_device.begin(), of_device.end(), sizing.weights[c].begin(), 0.0);
        if (weighed <= most) continue;
        most = weighed;
        of_class = c;
      }
      room += alike.devices * sizing.map(std::min(1.0, most * (1.0 + kBoundTolerance)));
      add(of_device, -alike.devices, needed.used[of_class]);
    }
    needed.size = needed.size / room - 1.0;
    for (Resources& of_class : needed.used) {
      for (double& used : of_class) used /= task_.devices;
    }
    return needed;
  }

  const Task& task_;
  std::vector<TablePieces> tables_;
  std::vector<AlikeDevices> devices_;
  std::vector<Phases> phases_;
  double fixed_ms_;
  ClassRange classes_{};
  std::optional<std::size_t> possible_{};                  ///< Class of replicas.
  ClassResources weights_{};                               ///< That showed most before.
  std::array<Replicas, kWidthClasses.size()> replicas_{};  ///< By their class.
  double bit_ms_ = 0.0;  ///< A device's part of what a bit of all lookups takes.
  int all_tables_ = 0;
  int column_step_ = 0;  ///< Columns of any device are a multiple.
  LeastSizes least_;
  std::vector<PieceUses> uses_;  ///< By tables_, of the sizing that is looked at.
  double bits_ = 0.0;
  StopCondition never_;
  StepBudget steps_{kMostSteps, never_};  ///< Taken by least_.
};

/// The cost of the plan that has nothing but replicas. Infinite if there is none.
double replicas_ms(const GpuSpec& gpu, const NetworkSpec& network, const Task& task) {
  Plan plan;
  plan.shards.resize(static_cast<std::size_t>(task.devices));
  plan.replicas = count_up<int>(task.tables.size());
  if (!check_plan(plan, task).empty()) return kInfinity;
  return analytic_plan_cost(gpu, network, task, plan).slowest_ms();
}

}  // namespace

double cost_bound_ms(const GpuSpec& gpu, const NetworkSpec& network, const Task& task) {
  validate(task);
  if (task.exchange.deduplicate_by_table || task.exchange.hot_rows) {
    throw Error(
        "no bound is known where plans deduplicate single tables or have hot rows; leave out "
        "deduplicate_by_table and hot_rows of exchange");
  }
  const DeduplicatedTask deduplicated(task);
  BoundSearch search(gpu, network_of(network, task), deduplicated.task());
  const double no_slices_ms = replicas_ms(gpu, network, task);
  constexpr double kMostMs = 1e12;
  double low = 0.0;
  double high = 1e-3;
  while (high < std::min(no_slices_ms, kMostMs) && search.impossible(high, Look::kSums)) {
    low = high;
    high *= 2.0;
  }
  if (high >= kMostMs) return kInfinity;
  // Raises what is known to be impossible, if by that precision at all.
  const auto raise = [&](Look look, double to, double precision) {
    if (low >= no_slices_ms) return;
    high = std::min(to, no_slices_ms);
    if (search.impossible(high, look)) {
      low = high;
      return;
    }
    if (high > low * (1.0 + precision) && !search.impossible(low * (1.0 + precision), look)) return;
    while (high - low > precision * high) {
      const double middle = 0.5 * (low + high);
      (search.impossible(middle, look) ? low : high) = middle;
    }
  };
  raise(Look::kSums, high, 1e-4);
  double best_bits = 0.0;
  for (const double bits : {0.5, 1.0, std::numbers::e}) {
    const double before = low;
    search.set_bits(bits);
    raise(Look::kSums, 1.2 * low, 1e-4);
    if (low > before) best_bits = bits;
  }
  search.set_bits(best_bits);
  const double precision = search.is_tiny() ? 5e-7 : 1e-3;
  if (search.has_few_tables()) {
    raise(Look::kMapped, 2.0 * low, precision);
    raise(Look::kBoxes, 1.5 * low, precision);
  }
  if (search.distinguish_widths()) raise(Look::kBoxes, 1.15 * low, std::max(precision, 2e-3));
  return std::max(low, task.overlap.host_ms);
}

}  // namespace neuroshard
