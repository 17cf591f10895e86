#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace neuroshard::docs {

/// A piece of a page's text with the line, from 1 on, where it begins.
struct Passage {
  int line = 0;
  std::string text;  ///< Its lines, without marks of lists and quotes.
};

/// A fenced block, or a hidden one: a comment `<!-- run first: LANGUAGE`, lines, `-->`.
struct Block {
  int line = 0;          ///< The first line within the fence.
  std::string language;  ///< Empty where the fence says none: output that is shown.
  std::string text;
  bool hidden = false;
  /// The reason in `<!-- not run: REASON -->` on the line before the fence; may be empty.
  std::optional<std::string> not_run;
};

/// A Markdown page in parts. Comments other than those above are left out.
struct Page {
  std::vector<std::string> lines;
  int comment_lines = 0;  ///< Lines among `lines` that readers do not see.
  std::vector<Passage> headings;
  std::vector<Passage> paragraphs;  ///< Items of lists are paragraphs, too.
  std::vector<Passage> cells;       ///< The cells of tables, headers included.
  std::vector<Block> blocks;
  std::vector<Passage>
      long_lines;  ///< Lines of more than kMaxLine characters that could be broken.
};

/// Characters of a line outside of tables and blocks.
inline constexpr int kMaxLine = 120;

[[nodiscard]] Page parse_page(std::string_view text);

/// True if a comment of the page says so, `<!-- run in order -->`: its commands and its Python are
/// one session, which tests/python/pages.py runs.
[[nodiscard]] bool runs_in_order(const Page& page);

/// The Markdown pages below `source` whose prose and blocks are tested, as paths relative to it,
/// sorted: README.md and CONTRIBUTING.md, all of docs/, and README.md of other folders.
[[nodiscard]] std::vector<std::string> pages_of(const std::filesystem::path& source);

/// All files below `source` but builds, hidden folders (other than .ci) and tests/data, as paths
/// relative to it, sorted.
[[nodiscard]] std::vector<std::string> files_of(const std::filesystem::path& source);

}  // namespace neuroshard::docs
