#include "search/state/plan_limits.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

#include "search/state/plan_state.h"

namespace neuroshard {
namespace {

bool leaves(const Edit& edit, int id) { return std::ranges::find(edit.out, id) != edit.out.end(); }

/// Rules of tables: on which devices they are, in how many slices and how wide ones.
class RulesOfTables final : public PlanLimit {
 public:
  [[nodiscard]] bool allows(const PlanState& state, const Edit& edit) const override {
    return std::ranges::all_of(edit.in, [&](const StateSlice& slice) {
      const TableWays::OfTable& of = state.ways().of(slice.table);
      if (!state.ways().may_be_wide(slice.table, slice.width) ||
          !of.may_be_at(slice.way, slice.place)) {
        return false;
      }
      const auto most = static_cast<std::size_t>(of.most_slices(slice.way));
      return state.of_table(slice.table).size() + edit.in.size() <= most ||
             slices_after(state, edit, slice.table) <= most;
    });
  }
  [[nodiscard]] bool allows_there(const PlanState& state, const Edit&,
                                  const StateSlice& slice) const override {
    return state.ways().of(slice.table).may_be_at(slice.way, slice.place);
  }

 private:
  static std::size_t slices_after(const PlanState& state, const Edit& edit, int table) {
    const auto is_of_table = [&](int id) { return state.slice(id).table == table; };
    const auto in = std::ranges::count(edit.in, table, &StateSlice::table);
    const auto out = std::ranges::count_if(edit.out, is_of_table);
    return state.of_table(table).size() + static_cast<std::size_t>(in - out);
  }
};

/// All slices of a table are as wide.
class EqualWidths final : public PlanLimit {
 public:
  [[nodiscard]] bool concerns(const PlanState& state) const override {
    return state.ways().equal_widths();
  }
  [[nodiscard]] bool allows(const PlanState& state, const Edit& edit) const override {
    return std::ranges::all_of(edit.in, [&](const StateSlice& slice) {
      const auto other_width = [&](const StateSlice& other) {
        return other.table == slice.table && other.width != slice.width;
      };
      return std::ranges::none_of(edit.in, other_width) &&
             std::ranges::none_of(state.of_table(slice.table), [&](int id) {
               return !leaves(edit, id) && other_width(state.slice(id));
             });
    });
  }
};

/// Tables that groups keep apart have no device in common. Their slices have blocks on all devices
/// of their places, and are never on all devices.
class TablesApart final : public PlanLimit {
 public:
  [[nodiscard]] bool concerns(const PlanState& state) const override {
    return state.ways().any_apart();
  }
  [[nodiscard]] bool allows(const PlanState& state, const Edit& edit) const override {
    return std::ranges::all_of(
        edit.in, [&](const StateSlice& slice) { return allows_there(state, edit, slice); });
  }
  [[nodiscard]] bool allows_there(const PlanState& state, const Edit& edit,
                                  const StateSlice& slice) const override {
    const TableWays& ways = state.ways();
    if (slice.way == Way::kReplica || !ways.any_apart(slice.table)) return true;
    const int first = slice.place * ways.group(slice.way);
    const int end = first + ways.group(slice.way);
    const auto is_apart = [&](const StateSlice& other) {
      if (other.table == slice.table || other.way == Way::kReplica) return false;
      const int group = ways.group(other.way);
      return other.place * group < end && first < (other.place + 1) * group &&
             ways.apart(slice.table, other.table);
    };
    const auto are_none_at = [&](Way way, int place) {
      return std::ranges::none_of(state.at(way, place), [&](int id) {
        return is_apart(state.slice(id)) && !leaves(edit, id);
      });
    };
    const auto are_none = [&](Way way) {
      if (ways.is_everywhere(way)) return true;
      const int group = ways.group(way);
      for (int place = first / group; place * group < end; ++place) {
        if (!are_none_at(way, place)) return false;
      }
      return true;
    };
    return std::ranges::none_of(edit.in, is_apart) && std::ranges::all_of(ways.list(), are_none);
  }
};

/// No more is moved from the plan that runs than may be.
class MovedBytesLimit final : public PlanLimit {
 public:
  [[nodiscard]] bool concerns(const PlanState& state) const override {
    return state.moved() != nullptr && most_bytes(state) != kAnyBytes;
  }
  [[nodiscard]] bool allows(const PlanState& state, const Edit& edit) const override {
    return state.moved_bytes_after(edit) <= most_bytes(state);
  }
  [[nodiscard]] bool holds(const PlanState& state) const override {
    return state.sums.moved_bytes <= most_bytes(state);
  }

 private:
  static std::int64_t most_bytes(const PlanState& state) {
    return state.moved()->terms().most_moved_bytes;
  }
};

constexpr RulesOfTables kRulesOfTables;
constexpr EqualWidths kEqualWidths;
constexpr TablesApart kTablesApart;
constexpr MovedBytesLimit kMovedBytesLimit;

constexpr std::array<const PlanLimit*, 4> kPlanLimits = {&kRulesOfTables, &kEqualWidths,
                                                         &kTablesApart, &kMovedBytesLimit};

}  // namespace

std::vector<const PlanLimit*> limits_of(const PlanState& state) {
  std::vector<const PlanLimit*> limits;
  const auto concerns = [&](const PlanLimit* limit) { return limit->concerns(state); };
  std::ranges::copy_if(kPlanLimits, std::back_inserter(limits), concerns);
  std::ranges::copy_if(state.ways().options().limits, std::back_inserter(limits), concerns);
  return limits;
}

bool keeps_limits(const PlanState& state, const Edit& edit) {
  return std::ranges::all_of(state.limits(),
                             [&](const PlanLimit* limit) { return limit->allows(state, edit); });
}

bool limits_allow_there(const PlanState& state, const Edit& edit, const StateSlice& slice) {
  return std::ranges::all_of(state.limits(), [&](const PlanLimit* limit) {
    return limit->allows_there(state, edit, slice);
  });
}

bool limits_hold(const PlanState& state) {
  return std::ranges::all_of(state.limits(),
                             [&](const PlanLimit* limit) { return limit->holds(state); });
}

}  // namespace neuroshard
