#pragma once

#include <span>
#include <string>

#include "neuroshard/training.h"
#include "tools/training/scatter_svg.h"

namespace neuroshard::tools {

/// "tables", or "8 devices".
[[nodiscard]] std::string test_name(const TestResult& test);

/// A line for each test: costs, MSE, MAPE and Kendall's tau. `header` names the first column.
[[nodiscard]] std::string accuracy_table(const std::string& header,
                                         std::span<const TestResult> tests);

/// "MSE 0.0123 ms^2, MAPE 1.23 %, Kendall tau 0.9876".
[[nodiscard]] std::string accuracy_text(const Accuracy& accuracy);

/// Titled with the name of the part ("comm.symmetric"), of the network and of the test.
[[nodiscard]] ScatterPanel scatter_panel(const std::string& part, const std::string& network,
                                         const TestResult& test);

}  // namespace neuroshard::tools
