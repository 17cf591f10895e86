#include <CLI/CLI.hpp>
#include <cctype>
#include <memory>
#include <nlohmann/json.hpp>

#include "neuroshard/error.h"
#include "neuroshard/plan_file.h"
#include "neuroshard/task_file.h"
#include "neuroshard/weights.h"
#include "tools/command_line/options.h"
#include "tools/commands.h"
#include "tools/files/tables_page.h"
#include "tools/files/weights_page.h"
#include "weights/files/read_file.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kInspectExamples = R"(Examples:
  neuroshard inspect                          the weights built into the program
  neuroshard inspect weights.safetensors
  neuroshard inspect tools/examples/dlrm_v2_8gpu.json
  neuroshard inspect plan.json

Files are told apart by their contents: weights files, published checkpoints (.pt), task files,
published table lists (table_configs.json), plans (one JSON document, or one line per task).)";

// The first bytes of a checkpoint are those of a zip archive; of a safetensors file, the length of
// the JSON that follows.
bool is_zip(std::string_view bytes) { return bytes.starts_with("PK\x03\x04"); }
bool is_safetensors(std::string_view bytes) { return bytes.size() > 8 && bytes[8] == '{'; }

std::string checkpoint_page(std::string_view bytes, const std::string& file) {
  std::string not_compute;
  try {
    return compute_checkpoint_page(parse_compute_checkpoint(bytes, file), file);
  } catch (const Error& error) {
    not_compute = error.what();
  }
  try {
    return comm_checkpoint_page(parse_comm_checkpoint(bytes, file), file);
  } catch (const Error& error) {
    throw Error(not_compute + "; and as a communication checkpoint: " + error.what());
  }
}

// By the kind of file that the object seems to be, which its reader checks.
std::string object_page(const std::string& bytes, const std::string& file) {
  const auto root = nlohmann::json::parse(bytes, nullptr, /*allow_exceptions=*/false);
  const auto has = [&](const char* field) { return root.is_object() && root.contains(field); };
  if (has("format") && root["format"] == "neuroshard.task") {
    return task_page(parse_task(bytes, file), file);
  }
  if (has("tables") && !has("format") && root["tables"].is_array()) {
    return table_configs_page(parse_table_configs(bytes, file), file);
  }
  return plans_page(parse_plans(bytes, file), file);
}

std::string page_of(const std::string& bytes, const std::string& file) {
  if (is_zip(bytes)) return checkpoint_page(bytes, file);
  if (is_safetensors(bytes)) return weights_page(parse_weights(bytes, file), file);
  const std::size_t start = bytes.find_first_not_of(" \t\r\n");
  const char first = start == std::string::npos ? '\0' : bytes[start];
  if (first == '[') return table_configs_page(parse_table_configs(bytes, file), file);
  if (first == '{') return object_page(bytes, file);
  throw Error(file + ": is no weights file, checkpoint, task, table list or plan" +
              (std::isdigit(static_cast<unsigned char>(first)) != 0
                   ? "; lines of table ids are read by 'plan --tables FILE --tasks FILE'"
                   : ""));
}

int run_inspect(const std::string& file, Console& console) {
  console.out << (file.empty() ? weights_page(builtin_weights(), builtin_place())
                               : page_of(read_file(file), file));
  return kExitOk;
}

}  // namespace

void add_inspect_command(CLI::App& program, Action& chosen) {
  const auto file = std::make_shared<std::string>();
  CLI::App* command = program.add_subcommand("inspect", "Show what a file contains");
  command->footer(kInspectExamples);
  command_line::OptionGroup(*command).add("FILE", "", *file,
                                          "File to look at; none: the built-in weights");
  command_line::run_if_given(*command, chosen, file, run_inspect);
}

}  // namespace neuroshard::tools
