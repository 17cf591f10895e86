#include "tools/accuracy_table.h"

#include <cstdio>

#include "tools/text.h"

namespace neuroshard::tools {
namespace {

std::string decimals(const char* pattern, double value) {
  char text[32];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

}  // namespace

std::string test_name(const TestResult& test) {
  return test.devices == 0 ? "tables" : std::to_string(test.devices) + " devices";
}

std::string accuracy_table(const std::string& header, std::span<const TestResult> tests) {
  using enum TextTable::Align;
  TextTable table({kLeft, kRight, kRight, kRight, kRight});
  table.add_row({"  " + header, "costs", "MSE ms^2", "MAPE", "Kendall tau"});
  for (const TestResult& test : tests) {
    table.add_row({"  " + test_name(test), format_count(test.accuracy.costs),
                   decimals("%.3g", test.accuracy.mse),
                   decimals("%.2f %%", 100.0 * test.accuracy.mape),
                   decimals("%.4f", test.accuracy.kendall_tau)});
  }
  return table.str();
}

std::string accuracy_text(const Accuracy& accuracy) {
  char text[128];
  std::snprintf(text, sizeof text, "MSE %.3g ms^2, MAPE %.2f %%, Kendall tau %.4f", accuracy.mse,
                100.0 * accuracy.mape, accuracy.kendall_tau);
  return text;
}

ScatterPanel scatter_panel(const std::string& part, const std::string& network,
                           const TestResult& test) {
  const std::string title =
      test.devices == 0 ? part : part + ", " + network + ", " + test_name(test);
  return {title, accuracy_text(test.accuracy), test.measured_ms, test.predicted_ms};
}

}  // namespace neuroshard::tools
