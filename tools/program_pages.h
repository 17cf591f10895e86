#pragma once

#include <string>

namespace CLI {
class App;
}

namespace neuroshard::tools {

// What is installed beside the program, made from its commands and options, so that none is
// forgotten.

/// A manual page, for man(7).
[[nodiscard]] std::string man_page(const CLI::App& program);

/// Completes commands, options and names of files in bash; a file of bash-completion.
[[nodiscard]] std::string bash_completion(const CLI::App& program);
/// The same in zsh, with descriptions; a file on its fpath.
[[nodiscard]] std::string zsh_completion(const CLI::App& program);

}  // namespace neuroshard::tools
