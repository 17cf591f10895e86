#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "docs/page.h"

namespace neuroshard::docs {

/// How a source marks comments.
enum class CommentStyle {
  kNone,     ///< The file is no source.
  kSlashes,  ///< `//` and `/* */`: C++, CUDA, C, Go, Rust, JavaScript.
  kHash,     ///< `#`: Python, shells, CMake. Docstrings are no comments.
};

/// By the file's name, or its first line where that names an interpreter.
[[nodiscard]] CommentStyle comment_style(std::string_view path, std::string_view text);

/// All comments of a source, without their marks. Lines that are comments alone, one after the
/// other, are one comment; so are those below a comment at the end of a line, in its column.
[[nodiscard]] std::vector<Passage> comments_of(std::string_view text, CommentStyle style);

}  // namespace neuroshard::docs
