#include "docs/comments.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace neuroshard::docs {
namespace {

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r") == std::string_view::npos;
}

// Reads a source from its beginning and knows what is a string.
class Reader {
 public:
  Reader(std::string_view text, CommentStyle style) : text_(text), style_(style) {}

  std::vector<Passage> read() {
    while (at_ < text_.size()) {
      if (text_[at_] == '\n') {
        ++line_;
        line_begin_ = ++at_;
      } else if (!skip_string() && !take_comment()) {
        ++at_;
      }
    }
    return std::move(comments_);
  }

 private:
  [[nodiscard]] bool at(std::string_view token) const {
    return text_.substr(at_).starts_with(token);
  }

  void skip_to(std::size_t end) {
    end = std::min(end, text_.size());
    for (; at_ < end; ++at_) {
      if (text_[at_] == '\n') {
        ++line_;
        line_begin_ = at_ + 1;
      }
    }
  }

  // To behind the next `end`.
  void skip_past(std::string_view end) {
    const auto found = text_.find(end, at_);
    skip_to(found == std::string_view::npos ? text_.size() : found + end.size());
  }

  bool skip_string() {
    if (style_ == CommentStyle::kSlashes && at("R\"")) {
      const auto open = text_.find('(', at_);
      if (open == std::string_view::npos) return false;
      const std::string end = ')' + std::string(text_.substr(at_ + 2, open - at_ - 2)) + '"';
      skip_past(end);
      return true;
    }
    for (const std::string_view quotes : {R"(""")", "'''"}) {
      if (style_ == CommentStyle::kHash && at(quotes)) {
        at_ += quotes.size();
        skip_past(quotes);
        return true;
      }
    }
    const char quote = text_[at_];
    if (quote != '"' && quote != '\'') return false;
    // A separator of digits: 1'000.
    if (quote == '\'' && at_ > 0 && std::isalnum(static_cast<unsigned char>(text_[at_ - 1])) != 0)
      return false;
    // A string ends in its line; a quote without another there is an apostrophe.
    for (auto end = at_ + 1; end < text_.size() && text_[end] != '\n'; ++end) {
      if (text_[end] == '\\') {
        ++end;
      } else if (text_[end] == quote) {
        at_ = end + 1;
        return true;
      }
    }
    return false;
  }

  bool take_comment() {
    if (style_ == CommentStyle::kSlashes && at("/*")) {
      const int first = line_;
      const auto begin = at_ + 2;
      skip_past("*/");
      add(first, at_ > begin + 2 ? text_.substr(begin, at_ - begin - 2) : std::string_view(), true,
          0);
      return true;
    }
    if (style_ == CommentStyle::kSlashes) {
      if (!at("//")) return false;
    } else if (text_[at_] != '#' ||
               (at_ > line_begin_ && text_[at_ - 1] != ' ' && text_[at_ - 1] != '\t')) {
      return false;
    }
    const std::size_t column = at_ - line_begin_;
    const bool alone = is_blank(text_.substr(line_begin_, column));
    const auto end = std::min(text_.find('\n', at_), text_.size());
    add(line_, text_.substr(at_, end - at_), alone, column);
    at_ = end;
    return true;
  }

  void add(int line, std::string_view text, bool alone, std::size_t column) {
    const auto first = text.find_first_not_of("/#!<* \t");
    const std::string words(first == std::string_view::npos ? std::string_view()
                                                            : text.substr(first));
    // A blank comment line ends a paragraph.
    const bool goes_on = !words.empty() && alone && line == last_line_ + 1 &&
                         column == last_column_ && !comments_.empty();
    last_line_ = words.empty() ? -1 : line;
    last_column_ = column;
    if (goes_on) {
      comments_.back().text += '\n' + words;
    } else if (!words.empty()) {
      comments_.push_back({line, words});
    }
  }

  std::string_view text_;
  CommentStyle style_;
  std::vector<Passage> comments_;
  std::size_t at_ = 0;
  std::size_t line_begin_ = 0;
  int line_ = 1;
  int last_line_ = -1;
  std::size_t last_column_ = 0;
};

}  // namespace

CommentStyle comment_style(std::string_view path, std::string_view text) {
  static constexpr std::array<std::string_view, 8> kSlashes = {".cpp", ".h",  ".cu", ".cuh",
                                                               ".c",   ".go", ".rs", ".js"};
  static constexpr std::array<std::string_view, 7> kHash = {
      ".py", ".sh", ".cmake", ".toml", ".cmake.in", ".pc.in", "CMakeLists.txt"};
  const auto ends = [&](std::string_view end) { return path.ends_with(end); };
  if (std::ranges::any_of(kHash, ends)) return CommentStyle::kHash;
  if (std::ranges::any_of(kSlashes, ends)) return CommentStyle::kSlashes;
  return text.starts_with("#!") ? CommentStyle::kHash : CommentStyle::kNone;
}

std::vector<Passage> comments_of(std::string_view text, CommentStyle style) {
  if (style == CommentStyle::kNone) return {};
  return Reader(text, style).read();
}

}  // namespace neuroshard::docs
