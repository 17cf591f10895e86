#include "tools/result_output.h"

#include "neuroshard/error.h"

namespace neuroshard::tools {

OutputFormat output_format_from_name(std::string_view name) {
  if (name == "table") return OutputFormat::kTable;
  if (name == "json") return OutputFormat::kJson;
  if (name == "jsonl") return OutputFormat::kJsonl;
  throw Error("--format: there is no format '" + std::string(name) + "'; use table, json or jsonl");
}

ResultOutput::ResultOutput(Console& console, const std::string& path) : console_(console) {
  if (path.empty()) {
    style_ = console.out_style;
  } else {
    file_ = std::make_unique<AtomicFile>(path);
  }
}

void ResultOutput::write(std::string_view text) {
  if (file_) {
    file_->write(text);
  } else {
    console_.out << text;
    require_written(console_.out, "standard output");
  }
}

void ResultOutput::finish() {
  if (file_) file_->commit();
}

}  // namespace neuroshard::tools
