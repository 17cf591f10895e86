#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "temporary_folder.h"
#include "tools/commands.h"

namespace neuroshard::tools {

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

/// The program in this process, with string streams for a console.
inline Outcome run_command(const std::vector<std::string>& args) {
  std::ostringstream out;
  std::ostringstream err;
  Console console{out, err};
  const int code = run_program(args, console);
  return {code, out.str(), err.str()};
}

inline std::string golden(const std::string& path) {
  return std::string(NEUROSHARD_TEST_DATA) + "/golden/" + path;
}

/// The published inputs for 4 devices: options of plan and simulate.
inline std::vector<std::string> golden_tasks(const std::vector<std::string>& more) {
  std::vector<std::string> args = {"--tables",    golden("tables/table_configs.json"),
                                   "--tasks",     golden("tasks/4gpu_dim64.txt"),
                                   "--devices",   "4",
                                   "--memory-gb", "4"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

inline Outcome run_command(const std::string& command, std::vector<std::string> args) {
  args.insert(args.begin(), command);
  return run_command(args);
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// 38 GiB of one table: more than the four devices of 4 GiB have.
inline constexpr std::string_view kImpossibleTask = "211 256\n";

/// The first `count` of the published tasks, and `last_line`, as options.
inline std::vector<std::string> first_tasks(const TemporaryFolder& folder, std::size_t count,
                                            const std::vector<std::string>& more,
                                            std::string_view last_line = {}) {
  std::string text;
  auto lines = lines_of(contents_of(golden("tasks/4gpu_dim64.txt")));
  lines.resize(count);
  for (const std::string& line : lines) text += line + '\n';
  text += last_line;
  std::vector<std::string> args = {"--tables",    golden("tables/table_configs.json"),
                                   "--tasks",     folder.write("tasks.txt", text),
                                   "--devices",   "4",
                                   "--memory-gb", "4"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

}  // namespace neuroshard::tools
