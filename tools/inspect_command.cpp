#include <memory>

#include "neuroshard/error.h"
#include "neuroshard/weights.h"
#include "tools/commands.h"
#include "tools/weights_page.h"
#include "weights/read_file.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kExamples = R"(Examples:
  neuroshard inspect                          the weights built into the program
  neuroshard inspect weights.safetensors
  neuroshard inspect compute.pt

Told apart by their contents: weights files, published checkpoints.)";

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

int run_inspect(const std::string& file, Console& console) {
  if (file.empty()) {
    console.out << weights_page(builtin_weights(), "built-in weights");
    return kExitOk;
  }
  const std::string bytes = read_file(file);
  if (is_zip(bytes)) {
    console.out << checkpoint_page(bytes, file);
  } else if (is_safetensors(bytes)) {
    console.out << weights_page(parse_weights(bytes, file), file);
  } else {
    throw Error(file + ": is neither a weights file nor a checkpoint");
  }
  return kExitOk;
}

}  // namespace

void add_inspect_command(CLI::App& program, Action& chosen) {
  const auto file = std::make_shared<std::string>();
  CLI::App* command = program.add_subcommand("inspect", "Show what a file contains");
  command->footer(kExamples);
  command->add_option("FILE", *file, "What to look at; none: the built-in weights")->type_name("");
  command->callback([file, &chosen] {
    chosen = [file](Console& console) { return run_inspect(*file, console); };
  });
}

}  // namespace neuroshard::tools
