#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "bench/commands.h"
#include "bench/machine/machine_context.h"
#include "bench/markdown_table.h"
#include "bench/measured/analytic_times.h"
#include "bench/measured/measurements.h"
#include "bench/measured/term_accuracy.h"
#include "tools/command_line/options.h"

namespace neuroshard::bench {
namespace {

constexpr const char* kMeasuredFooter =
    R"(Analytic costs (docs/analytic_costs.md) beside what others measured and published:
all-to-alls, all-reduces, the embedding operator, training iterations. Ratios are analytic over
measured times: by term their geometric mean, spread (exp of the standard deviation of their
logarithms), least and most. A test holds terms of four measurements and more to the limits.
Iterations with a small part of embeddings have no analytic time; only --rows lists them.

Examples:
  nsbench measured
  nsbench measured --rows
  nsbench measured --data my_measurements)";

struct MeasuredOptions {
  std::string data = "bench/data/measured";
  bool rows = false;
};

void run_measured(const MeasuredOptions& options, std::ostream& out) {
  MarkdownTable rows({"term", "set-up", "measured us", "analytic us", "ratio", "source"});
  std::vector<TermRatio> ratios;
  for (const MeasuredTime& one : read_measurements(options.data)) {
    const std::optional<double> us = analytic_us(one, options.data);
    if (us) ratios.push_back({one.term, *us / one.us});
    rows.add_row({one.term, one.setup, three_digits(one.us), us ? three_digits(*us) : "-",
                  us ? three_decimals(*us / one.us) : "-", one.source});
  }
  MarkdownTable terms({"term", "n", "mean", "spread", "least", "most", "limits", "within"});
  for (const TermAccuracy& term : accuracy_by_term(ratios)) {
    const AccuracyLimits limits = limits_of(term.term);
    const bool judged = term.measurements >= kFewestJudged;
    terms.add_row({term.term, std::to_string(term.measurements), three_decimals(term.mean),
                   three_decimals(term.spread), three_decimals(term.least),
                   three_decimals(term.most), judged ? limits.str() : "-",
                   !judged             ? "-"
                   : limits.hold(term) ? "yes"
                                       : "no"});
  }
  out << context_block(machine_context()) << '\n' << terms.str() << "\nWider limits:\n\n";
  for (const TermException& one : term_exceptions()) {
    out << "* " << one.term << ": " << one.reason << '\n';
  }
  if (options.rows) out << '\n' << rows.str();
}

}  // namespace

void add_measured_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<MeasuredOptions>();
  CLI::App* command =
      program.add_subcommand("measured", "Analytic costs beside published measurements");
  command->footer(kMeasuredFooter);
  const command_line::OptionGroup general(*command);
  general.with_default("--data", options->data, "Folder of the measurements");
  general.flag("--rows", options->rows, "Also list each measurement");
  command_line::run_if_given(*command, chosen, options, run_measured);
}

}  // namespace neuroshard::bench
