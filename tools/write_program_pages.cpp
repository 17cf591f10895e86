// usage: write_program_pages FOLDER
// Writes what is installed beside the program: neuroshard.1, neuroshard (bash) and _neuroshard
// (zsh).
#include <CLI/CLI.hpp>
#include <exception>
#include <filesystem>
#include <iostream>

#include "tools/program.h"
#include "tools/program_pages.h"
#include "weights/files/atomic_file.h"

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::cerr << "usage: write_program_pages FOLDER\n";
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  neuroshard::tools::Action chosen;
  const auto program = neuroshard::tools::make_program(chosen);
  neuroshard::write_file(folder / "neuroshard.1", neuroshard::tools::man_page(*program));
  neuroshard::write_file(folder / "neuroshard", neuroshard::tools::bash_completion(*program));
  neuroshard::write_file(folder / "_neuroshard", neuroshard::tools::zsh_completion(*program));
  return 0;
} catch (const std::exception& error) {
  std::cerr << "write_program_pages: " << error.what() << '\n';
  return 2;
}
