#include "tools/training/accuracy_table.h"

#include "tools/text/text.h"

namespace neuroshard::tools {
std::string test_name(const TestResult& test) {
  return test.devices == 0 ? "tables" : counted(static_cast<std::uint64_t>(test.devices), "device");
}

std::string accuracy_table(const std::string& header, std::span<const TestResult> tests) {
  using enum TextTable::Align;
  TextTable table({kLeft, kRight, kRight, kRight, kRight});
  table.add_row({"  " + header, "costs", "MSE ms^2", "MAPE", "Kendall tau"});
  for (const TestResult& test : tests) {
    table.add_row({"  " + test_name(test), format_count(test.accuracy.costs),
                   format_short(test.accuracy.mse), format_percent(test.accuracy.mape, 2),
                   format_number(test.accuracy.kendall_tau, 4)});
  }
  return table.str();
}

std::string accuracy_text(const Accuracy& accuracy) {
  return "MSE " + format_short(accuracy.mse) + " ms^2, MAPE " + format_percent(accuracy.mape, 2) +
         ", Kendall tau " + format_number(accuracy.kendall_tau, 4);
}

ScatterPanel scatter_panel(const std::string& part, const std::string& network,
                           const TestResult& test) {
  const std::string title =
      test.devices == 0 ? part : part + ", " + network + ", " + test_name(test);
  return {title, accuracy_text(test.accuracy), test.measured_ms, test.predicted_ms};
}

}  // namespace neuroshard::tools
