#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/tables/exchange_fields.h"
#include "core/tables/host_memory_fields.h"
#include "core/tables/overlap_fields.h"
#include "neuroshard/error.h"
#include "neuroshard/version.h"
#include "tools/python/bindings/bindings.h"
#include "tools/python/bindings/state_fields.h"
#include "tools/python/bindings/values.h"

namespace neuroshard::python {
namespace {

namespace nb = nanobind;

[[noreturn]] void fail_damaged() {
  throw Error("the pickle is damaged; make it anew, or keep plans and tasks as JSON");
}

template <typename T>
concept KnownToPython = std::is_arithmetic_v<T> || std::same_as<T, std::string> ||
    std::same_as<T, std::shared_ptr<NamedTask>>;

// How values become what pickle knows, and back: structs as tuples of their fields, optional ones
// as None or a tuple of one. Tasks, which many values share, stay objects.
template <typename T>
struct State {
  static nb::object of(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      return nb::cast(static_cast<int>(value));
    } else if constexpr (KnownToPython<T>) {
      return nb::cast(value);
    } else {
      return std::apply(
          [](const auto&... field) -> nb::object {
            return nb::make_tuple(State<std::remove_cvref_t<decltype(field)>>::of(field)...);
          },
          fields_of(value));
    }
  }

  static void read(nb::handle state, T& value) {
    if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(nb::cast<int>(state));
      if (name_of(value) == name_of(static_cast<T>(-1))) fail_damaged();
    } else if constexpr (KnownToPython<T>) {
      value = nb::cast<T>(state);
    } else {
      const auto fields = nb::cast<nb::tuple>(state);
      std::apply(
          [&](auto&... field) {
            if (fields.size() != sizeof...(field)) fail_damaged();
            std::size_t at = 0;
            (State<std::remove_cvref_t<decltype(field)>>::read(fields[at++], field), ...);
          },
          fields_of(value));
    }
  }
};

template <typename T>
struct State<std::vector<T>> {
  static nb::object of(const std::vector<T>& values) {
    nb::list list;
    for (const T& value : values) list.append(State<T>::of(value));
    return list;
  }
  static void read(nb::handle state, std::vector<T>& values) {
    const auto list = nb::cast<nb::list>(state);
    values.resize(list.size());
    for (std::size_t i = 0; i < values.size(); ++i) State<T>::read(list[i], values[i]);
  }
};

template <typename T, std::size_t kSize>
struct State<std::array<T, kSize>> {
  static nb::object of(const std::array<T, kSize>& values) {
    return State<std::vector<T>>::of({values.begin(), values.end()});
  }
  static void read(nb::handle state, std::array<T, kSize>& values) {
    std::vector<T> read;
    State<std::vector<T>>::read(state, read);
    if (read.size() != kSize) fail_damaged();
    std::copy(read.begin(), read.end(), values.begin());
  }
};

template <typename T>
struct State<std::optional<T>> {
  static nb::object of(const std::optional<T>& value) {
    if (!value) return nb::none();
    return nb::make_tuple(State<T>::of(*value));
  }
  static void read(nb::handle state, std::optional<T>& value) {
    value.reset();
    if (state.is_none()) return;
    const auto one = nb::cast<nb::tuple>(state);
    if (one.size() != 1) fail_damaged();
    State<T>::read(one[0], value.emplace());
  }
};

// Checks what the library relies on, and makers of these values would have refused.
void require_sound(const Table& table) { validate(table, "the pickle's table"); }
void require_sound(const NamedTask& task) { validate(task.task, "the pickle's task"); }
void require_sound(const ExchangeTypes& types) {
  if (exchange_problem_of(types)) fail_damaged();
}
void require_sound(const HostMemory& host) {
  if (host_memory_problem_of(host)) fail_damaged();
}
void require_sound(const Overlap& overlap) {
  if (overlap_problem_of(overlap)) fail_damaged();
}
void require_sound(const NamedTask* task, const Plan& plan, const PlanCost& cost) {
  if (task == nullptr || static_cast<int>(cost.devices.size()) != task->task.devices) {
    fail_damaged();
  }
  validate(plan, task->task);
}
void require_sound(const CostedTaskPlan& plan) {
  require_sound(plan.task.get(), plan.plan, plan.cost);
}
void require_sound(const TaskPlanResult& found) {
  const PlanResult& result = found.result;
  if (found.task == nullptr || result.plan.has_value() == result.infeasible.has_value()) {
    fail_damaged();
  }
  if (result.plan) require_sound(found.task.get(), *result.plan, result.cost);
  for (const CostedPlan& other : result.alternatives) {
    require_sound(found.task.get(), other.plan, other.cost);
  }
}
template <typename T>
void require_sound(const T&) {}

template <typename Function>
void add_method(nb::handle type, const char* name, Function function) {
  nb::cpp_function_def(std::move(function), nb::scope(type), nb::name(name), nb::is_method());
}

// Values are immutable, so that a copy is the value itself. A pickle is for the version that made
// it.
template <typename T>
void add_state() {
  const nb::handle type = nb::type<T>();
  add_method(type, "__copy__", [](nb::handle self) { return nb::borrow(self); });
  add_method(type, "__deepcopy__", [](nb::handle self, nb::handle) { return nb::borrow(self); });
  add_method(type, "__getstate__", [](const T& value) -> nb::object {
    return nb::make_tuple(NEUROSHARD_VERSION, State<T>::of(value));
  });
  add_method(type, "__setstate__", [](T& self, const nb::object& state) {
    T value{};
    try {
      const auto versioned = nb::cast<nb::tuple>(state);
      if (versioned.size() != 2) fail_damaged();
      if (const auto version = nb::cast<std::string>(versioned[0]); version != NEUROSHARD_VERSION) {
        throw Error("the pickle is of neuroshard " + version +
                    ", this is " NEUROSHARD_VERSION "; keep plans and tasks as JSON");
      }
      State<T>::read(versioned[1], value);
    } catch (const nb::cast_error&) {
      fail_damaged();
    }
    require_sound(value);
    new (&self) T(std::move(value));
  });
}

template <typename... Kept>
void add_states() {
  (add_state<Kept>(), ...);
}

}  // namespace

void bind_states() {
  add_states<Table, TableRules, TableGroup, Device, NodeLinks, ExchangeTypes, Overlap, HostMemory,
             NamedTask, TableSlice, Plan, CostedTaskPlan, Infeasibility, SearchStats,
             TaskPlanResult>();
}

}  // namespace neuroshard::python
