#pragma once

#include <cstddef>

namespace neuroshard {

// report.html with its style sheet and scripts; defined in a source that is made when the program
// is built.
extern const unsigned char kReportTemplate[];
extern const std::size_t kReportTemplateSize;

}  // namespace neuroshard
