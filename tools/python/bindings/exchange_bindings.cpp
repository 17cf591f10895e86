#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "core/tables/exchange_fields.h"
#include "neuroshard/error.h"
#include "neuroshard/exchange_types.h"
#include "tools/python/bindings/bindings.h"

namespace neuroshard::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

ExchangeTypes make_exchange(std::string_view forward, std::string_view backward,
                            std::string_view ids, double forward_share, double backward_share,
                            bool deduplicate_ids, bool deduplicate_by_table, bool hot_rows,
                            bool hot_rows_by_node) {
  ExchangeTypes types{.forward_share = forward_share,
                      .backward_share = backward_share,
                      .deduplicate_ids = deduplicate_ids,
                      .deduplicate_by_table = deduplicate_by_table,
                      .hot_rows = hot_rows,
                      .hot_rows_by_node = hot_rows_by_node};
  const std::string_view names[] = {forward, backward, ids};
  for (std::size_t i = 0; i < kWireTypeFields.size(); ++i) {
    types.*kWireTypeFields[i].type = wire_type_from_name(kWireTypeFields[i], names[i]);
  }
  if (const auto problem = exchange_problem_of(types)) throw Error("exchange: " + *problem);
  return types;
}

}  // namespace

void bind_exchange(nb::module_& module) {
  const auto name = [](WireType ExchangeTypes::*type) {
    return [type](const ExchangeTypes& types) { return std::string(name_of(types.*type)); };
  };
  nb::class_<ExchangeTypes>(module, "ExchangeTypes", "How values and ids are sent.")
      .def(
          "__init__",
          [](ExchangeTypes* self, std::string_view forward, std::string_view backward,
             std::string_view ids, double forward_share, double backward_share,
             bool deduplicate_ids, bool deduplicate_by_table, bool hot_rows,
             bool hot_rows_by_node) {
            new (self) ExchangeTypes(
                make_exchange(forward, backward, ids, forward_share, backward_share,
                              deduplicate_ids, deduplicate_by_table, hot_rows, hot_rows_by_node));
          },
          nb::kw_only(), "forward"_a = "fp32", "backward"_a = "fp32", "ids"_a = "int64",
          "forward_share"_a = 1.0, "backward_share"_a = 1.0, "deduplicate_ids"_a = false,
          "deduplicate_by_table"_a = false, "hot_rows"_a = false, "hot_rows_by_node"_a = false,
          "`forward` and `backward`: type of outputs and of their gradients, \"fp32\", \"fp16\", "
          "\"bf16\" or \"fp8\". `ids`: \"int64\" or \"int32\". Shares: bytes that are sent divided "
          "by those of all values, 0.001 to 1, where a threshold decides which are sent. "
          "`deduplicate_ids`: each device asks once for each row that its part of the batch looks "
          "up in a table that is not pooled. `deduplicate_by_table`: plans say so of single "
          "tables, pooled ones too. `hot_rows`: plans may keep the most popular rows of tables on "
          "every device. `hot_rows_by_node`: and the next ones once on each node.")
      .def_prop_ro("forward", name(&ExchangeTypes::forward))
      .def_prop_ro("backward", name(&ExchangeTypes::backward))
      .def_prop_ro("ids", name(&ExchangeTypes::ids))
      .def_ro("forward_share", &ExchangeTypes::forward_share)
      .def_ro("backward_share", &ExchangeTypes::backward_share)
      .def_ro("deduplicate_ids", &ExchangeTypes::deduplicate_ids)
      .def_ro("deduplicate_by_table", &ExchangeTypes::deduplicate_by_table)
      .def_ro("hot_rows", &ExchangeTypes::hot_rows)
      .def_ro("hot_rows_by_node", &ExchangeTypes::hot_rows_by_node)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__repr__", [](const ExchangeTypes& types) {
        return "ExchangeTypes(" + exchange_text(types) + ")";
      });
}

}  // namespace neuroshard::python
