#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/string.h>

#include "core/tables/overlap_fields.h"
#include "neuroshard/error.h"
#include "neuroshard/overlap.h"
#include "tools/python/bindings/bindings.h"

namespace neuroshard::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

Overlap checked_overlap(const Overlap& overlap) {
  if (const auto problem = overlap_problem_of(overlap)) throw Error("overlap: " + *problem);
  return overlap;
}

}  // namespace

void bind_overlap(nb::module_& module) {
  nb::class_<Overlap>(module, "Overlap", "Work that runs side by side in an iteration.")
      .def(
          "__init__",
          [](Overlap* self, bool ids, double dense_ms, double dense_beside_outputs_ms,
             double dense_beside_gradients_ms, double host_ms) {
            new (self)
                Overlap(checked_overlap({.ids = ids,
                                         .dense_ms = dense_ms,
                                         .dense_beside_outputs_ms = dense_beside_outputs_ms,
                                         .dense_beside_gradients_ms = dense_beside_gradients_ms,
                                         .host_ms = host_ms}));
          },
          nb::kw_only(), "ids"_a = false, "dense_ms"_a = 0.0, "dense_beside_outputs_ms"_a = 0.0,
          "dense_beside_gradients_ms"_a = 0.0, "host_ms"_a = 0.0,
          "`ids`: their all-to-all runs behind the iteration before, as in TorchRec's "
          "TrainPipelineSparseDist. Milliseconds of the dense part: beside no all-to-all, beside "
          "that of outputs, and beside that of gradients. `host_ms`: no iteration takes less.")
      .def_ro("ids", &Overlap::ids)
      .def_ro("dense_ms", &Overlap::dense_ms)
      .def_ro("dense_beside_outputs_ms", &Overlap::dense_beside_outputs_ms)
      .def_ro("dense_beside_gradients_ms", &Overlap::dense_beside_gradients_ms)
      .def_ro("host_ms", &Overlap::host_ms)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__repr__",
           [](const Overlap& overlap) { return "Overlap(" + overlap_text(overlap) + ")"; });
}

}  // namespace neuroshard::python
