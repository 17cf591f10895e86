#include "tools/kept_inputs.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "neuroshard/error.h"

namespace neuroshard::tools {
namespace {

namespace fs = std::filesystem;

struct NamedFile {
  std::string option;
  fs::path path;
};

struct Files {
  std::vector<NamedFile> read;
  std::vector<NamedFile> written;
};

constexpr std::array<std::string_view, 8> kWritten = {
    "--output", "--plan-output", "--cache-statistics", "--log", "--report", "--scatter",
    "--svg",    "--json"};
/// Files that commands read in a folder of samples or tables.
constexpr std::array<std::string_view, 3> kFolderFiles = {"data.txt", "collection.json",
                                                          "table_configs.json"};

Files files_of(const CLI::App& command) {
  Files files;
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    const std::string type = option->get_type_name();
    const bool written =
        std::ranges::any_of(kWritten, [&](std::string_view output) { return name == output; });
    if (type != "FILE" && type != "DIR" && type != "PATH" && type != "WEIGHTS") continue;
    for (const std::string& value : option->results()) {
      if (written) {
        files.written.push_back({name, value});
      } else if (type == "DIR") {
        for (const std::string_view file : kFolderFiles) {
          files.read.push_back({name, fs::path(value) / file});
        }
      } else {
        files.read.push_back({name, value});
      }
    }
  }
  return files;
}

/// Not devices and pipes: reading from and writing to one terminal is fine.
bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  if (fs::is_regular_file(a, ignored) || fs::is_regular_file(b, ignored)) {
    return fs::equivalent(a, b, ignored);
  }
  return !fs::exists(a, ignored) && !fs::exists(b, ignored) && !a.empty() &&
         fs::weakly_canonical(a, ignored) == fs::weakly_canonical(b, ignored);
}

}  // namespace

void require_inputs_kept(const CLI::App& program) {
  const CLI::App* command = &program;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  const Files files = files_of(*command);
  for (std::size_t i = 0; i < files.written.size(); ++i) {
    const NamedFile& output = files.written[i];
    for (const NamedFile& input : files.read) {
      if (!same_file(output.path, input.path)) continue;
      // Weights are read whole before others are written.
      const bool is_weights = input.option == "--base" || input.option == "--from";
      if (is_weights && output.option == "--output") continue;
      throw Error(output.option + " " + output.path.string() + " is also what " + input.option +
                  " reads, and would be overwritten; write to another file");
    }
    for (std::size_t other = 0; other < i; ++other) {
      if (!same_file(output.path, files.written[other].path)) continue;
      throw Error(output.option + " and " + files.written[other].option + " are one file, " +
                  output.path.string() + "; write to two");
    }
  }
}

}  // namespace neuroshard::tools
