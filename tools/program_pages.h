#pragma once

#include <string>

namespace CLI {
class App;
}

namespace neuroshard::tools {

// Pages and completions are installed beside the program. They are made from its commands and
// options, so that none is forgotten.

/// A manual page, for man(7).
[[nodiscard]] std::string man_page(const CLI::App& program);

/// Completes commands, options and names of files in bash; a file of bash-completion.
[[nodiscard]] std::string bash_completion(const CLI::App& program);
/// Completes them in zsh, with descriptions; a file on its fpath.
[[nodiscard]] std::string zsh_completion(const CLI::App& program);

}  // namespace neuroshard::tools
