#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "docs/page.h"

namespace neuroshard::docs {

// Limits of prose.
inline constexpr double kMaxMeanWords = 15.0;  ///< Words of a sentence, on average over a page.
inline constexpr int kMaxSentenceWords = 40;
inline constexpr int kMaxCellWords = 30;
inline constexpr int kMaxPageLines = 300;  ///< Pages of formats (`*_format.md`) may be longer.

/// Words of a passage as they are counted: inline code and the text of a link's target are one
/// word and none; a token without a letter or digit is no word.
[[nodiscard]] int words_in(std::string_view text);

/// The sentences of a passage, with their lines. Inline code is kept, targets of links are not.
[[nodiscard]] std::vector<Passage> sentences_of(const Passage& passage);

/// True of a text that begins with "Of", "Likewise", "The same", "Those" or "What".
[[nodiscard]] bool begins_badly(std::string_view text);

/// Something that is beyond a limit.
struct Finding {
  int line = 0;
  std::string what;  ///< Measure, value and limit.
  std::string text;  ///< Sentence, cell, heading or line; empty if it is the whole page.
};

/// `name` of the page decides whether it may be long.
[[nodiscard]] std::vector<Finding> findings_in(const Page& page, std::string_view name);

}  // namespace neuroshard::docs
