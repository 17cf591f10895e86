#include "tools/console/result_output.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "neuroshard/error.h"
#include "weights/files/atomic_file.h"

namespace neuroshard::tools {

OutputFormat output_format_from_name(std::string_view name) {
  if (name == "table") return OutputFormat::kTable;
  if (name == "json") return OutputFormat::kJson;
  if (name == "jsonl") return OutputFormat::kJsonl;
  throw Error("--format: there is no format '" + std::string(name) + "'; use table, json or jsonl");
}

void require_one_for_json(OutputFormat format, std::size_t count, std::string_view noun) {
  if (format != OutputFormat::kJson || count <= 1) return;
  throw Error("--format json holds one " + std::string(noun) + ", and there are " +
              std::to_string(count) + "; pick one with --index, or use jsonl");
}

std::string json_document(const nlohmann::ordered_json& json) {
  using Json = nlohmann::ordered_json;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string json_lines(const nlohmann::ordered_json& list) {
  using Json = nlohmann::ordered_json;
  std::string lines;
  for (const Json& entry : list) {
    lines += entry.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
  }
  return lines;
}

bool is_device(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_other(std::filesystem::status(path, ignored));
}

ResultOutput::ResultOutput(Console& console, const std::string& path)
    : console_(console), path_(path) {
  if (path.empty()) {
    style_ = console.out_style;
    return;
  }
  // Not a pipe, whose reader would take the probe for the whole file.
  if (!is_device(path)) const AtomicFile probe(path);
}

void ResultOutput::write(std::string_view text) {
  if (!path_.empty()) {
    text_ += text;
  } else {
    console_.out << text;
    require_written(console_.out, "standard output");
  }
}

void ResultOutput::finish(std::string_view last) {
  if (!last.empty()) write(last);
  if (!path_.empty()) write_file(path_, text_);
}

std::optional<ResultOutput> optional_output(Console& console, const std::string& path) {
  if (path.empty()) return std::nullopt;
  return ResultOutput(console, path);
}

}  // namespace neuroshard::tools
