#include "tools/training/fit_report.h"

#include "core/base/message_text.h"
#include "tools/charts/svg.h"
#include "tools/text/text.h"
#include "tools/training/accuracy_table.h"
#include "tools/training/scatter_svg.h"

namespace neuroshard::tools {
namespace {

std::string network_page(const std::string& part, const Fit& fit) {
  std::string text = part;
  if (fit.summary.network != part) text += ", " + fit.summary.network;
  text += ": " + std::string(name_of(fit.recipe)) + ", of " +
          format_count(fit.summary.train_samples) +
          " samples\n  error of recipes on samples held back: ";
  text += joined(fit.trials, ", ", [](const RecipeTrial& trial) {
    return std::string(name_of(trial.recipe)) + ' ' + format_percent(trial.mape, 1);
  });
  return text + '\n' + accuracy_table("test", fit.summary.tests);
}

}  // namespace

std::string fit_page(const FittedWeights& fitted) {
  std::string text = "recipes begin with " + printable(fitted.from) + '\n';
  for (const FittedPart& part : fitted.parts) {
    for (const Fit& network : part.networks) text += '\n' + network_page(part.part, network);
  }
  return text;
}

std::string fit_html(const std::string& title, const std::string& text,
                     const FittedWeights& fitted) {
  std::vector<ScatterPanel> panels;
  for (const FittedPart& part : fitted.parts) {
    for (const Fit& network : part.networks) {
      for (const TestResult& test : network.summary.tests) {
        panels.push_back(scatter_panel(part.part, network.summary.network, test));
      }
    }
  }
  const std::string escaped_title = charts::xml_escaped(printable(title));
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" +
         escaped_title + "</title>\n<style>body{font:15px sans-serif;margin:2em}</style></head>\n" +
         "<body><h1>" + escaped_title + "</h1>\n<pre>" + charts::xml_escaped(text) + "</pre>\n" +
         scatter_svg(panels, 2) + "</body></html>\n";
}

}  // namespace neuroshard::tools
