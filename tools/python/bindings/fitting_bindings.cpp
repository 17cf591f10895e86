#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "neuroshard/weights.h"
#include "tools/python/bindings/bindings.h"
#include "tools/python/bindings/interruptible.h"
#include "tools/python/bindings/values.h"
#include "tools/training/fit_report.h"
#include "tools/training/fitted_weights.h"

namespace neuroshard::python {
namespace {

namespace nb = nanobind;
namespace fs = std::filesystem;
using nb::literals::operator""_a;
using tools::FittedPart;
using tools::FittedWeights;

FittedWeights fit(std::vector<fs::path> folders, std::string from, std::uint64_t seed,
                  int threads) {
  FittedWeights fitted;
  run_interruptibly([&](const std::stop_token& stop) {
    tools::FitRequest request{
        .folders = std::move(folders), .from = std::move(from), .options = {}};
    request.options.seed = seed;
    request.options.threads = threads;
    request.options.should_stop = [&stop] { return stop.stop_requested(); };
    fitted = fit_weights(request);
  });
  return fitted;
}

/// Errors on samples held back, of each network and number of devices.
nb::list tests_of(const FittedWeights& fitted) {
  nb::list tests;
  for (const FittedPart& part : fitted.parts) {
    for (const Fit& network : part.networks) {
      for (const TestResult& test : network.summary.tests) {
        nb::dict fields;
        fields["part"] = part.part;
        fields["network"] = network.summary.network;
        fields["recipe"] = std::string(name_of(network.recipe));
        fields["devices"] = test.devices;
        fields["costs"] = test.accuracy.costs;
        fields["mape"] = test.accuracy.mape;
        fields["kendall_tau"] = test.accuracy.kendall_tau;
        tests.append(fields);
      }
    }
  }
  return tests;
}

}  // namespace

void bind_fitting(nb::module_& module) {
  module.attr("USUAL_MAX_ERROR") = tools::kUsualMaxError;
  nb::class_<FittedWeights>(module, "FittedWeights", "Weights made of samples (fit_weights).")
      .def_prop_ro("weights",
                   [](const FittedWeights& fitted) {
                     return std::make_shared<Weights>(
                         Weights{fitted.models, origin_of(fitted.models, "measured")});
                   })
      .def_prop_ro("page", &tools::fit_page, "Recipes and errors as text.")
      .def(
          "html",
          [](const FittedWeights& fitted, const std::string& title, const std::string& text) {
            return fit_html(title, text, fitted);
          },
          "title"_a, "text"_a, "A page with predicted over measured costs.")
      .def_prop_ro("tests", &tests_of, nb::sig("def tests(self) -> list[dict[str, object]]"),
                   "Errors on samples that were held back, by term and number of devices.")
      .def(
          "terms_off",
          [](const FittedWeights& fitted, double max_error) {
            return terms_off(fitted, max_error);
          },
          "max_error"_a, "A line for each term whose error is larger.")
      .def(
          "save",
          [](const FittedWeights& fitted, const fs::path& path) {
            save_weights(fitted.models, path);
          },
          "path"_a, nb::sig("def save(self, path: str | os.PathLike[str]) -> None"));
  module.def(
      "fit_weights", &fit, "folders"_a, nb::kw_only(), "from_"_a = "", "seed"_a = 0,
      "threads"_a = 0,
      nb::sig("def fit_weights(folders: collections.abc.Sequence[str | os.PathLike[str]], *, "
              "from_: str = '', seed: int = 0, threads: int = 0) -> FittedWeights"),
      "As `neuroshard train` without a sub-command.");
}

}  // namespace neuroshard::python
