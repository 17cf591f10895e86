#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "tools/plan_pages/html_report.h"

namespace neuroshard::python {

/// to_html(), and what Jupyter shows. `report(value)` is the text of an HTML file.
template <typename T, typename Report>
void add_html_methods(nanobind::class_<T>& shown, Report report) {
  shown.def("to_html", report,
            "A page for browsers, one HTML file, as `neuroshard plan --report` writes it.");
  shown.def(
      "_repr_html_", [report](const T& value) { return tools::html_frame(report(value), "Plan"); },
      "The page of to_html() in a frame, for notebooks.");
}

}  // namespace neuroshard::python
