#include "docs/prose.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <regex>

namespace neuroshard::docs {
namespace {

// A letter, a digit, or a byte of a letter that is not ASCII.
bool is_letter(char byte) {
  return std::isalnum(static_cast<unsigned char>(byte)) != 0 || (byte & 0x80) != 0;
}

bool is_word(std::string_view token) { return std::ranges::any_of(token, is_letter); }

// Links become their text, and HTML tags nothing. Blanks within inline code become '_', so that it
// is one token, and its last point no end. Ends of lines stay.
std::string plain(const std::string& text) {
  static const std::regex kLink(R"(!?\[([^\]]*)\]\([^)]*\))");
  static const std::regex kTag(R"(</?[A-Za-z][^>`]*>)");
  std::string result;
  bool code = false;
  std::string outside;
  const auto flush = [&] {
    result += std::regex_replace(outside, kTag, "");
    outside.clear();
  };
  for (const char byte : std::regex_replace(text, kLink, "$1")) {
    if (byte == '`') {
      if (!code) flush();
      code = !code;
      result += byte;
    } else if (!code) {
      outside += byte;
    } else {
      result += byte == ' ' || byte == '\n' ? '_' : byte;
      if (byte == '\n') outside += '\n';
    }
  }
  flush();
  return result;
}

std::string without_closing_marks(std::string token) {
  while (!token.empty() &&
         std::string_view("*_)\"'").find(token.back()) != std::string_view::npos) {
    token.pop_back();
  }
  return token;
}

bool ends_sentence(const std::string& token, const std::string& next) {
  static constexpr std::array<std::string_view, 11> kAbbreviations = {
      "e.g.", "i.e.", "cf.", "vs.", "et al.", "al.", "Fig.", "No.", "pp.", "approx.", "St."};
  const std::string end = without_closing_marks(token);
  if (end.empty() || end.ends_with('`')) return false;
  if (end.back() == '!' || end.back() == '?') return true;
  if (end.back() != '.') return false;
  const auto first = end.find_first_not_of("(\"*_");
  const std::string word = end.substr(first == std::string::npos ? 0 : first);
  if (std::ranges::find(kAbbreviations, word) != kAbbreviations.end()) return false;
  if (word.size() == 2 && std::isupper(static_cast<unsigned char>(word[0])) != 0) {
    return false;  // A person's initial.
  }
  const bool lower = !next.empty() && std::islower(static_cast<unsigned char>(next[0])) != 0;
  return word != "etc." || !lower;
}

std::string figure(const char* format, double value, double limit) {
  std::array<char, 96> text{};
  (void)std::snprintf(text.data(), text.size(), format, value, limit);
  return text.data();
}

}  // namespace

std::vector<Passage> sentences_of(const Passage& passage) {
  struct Token {
    int line;
    std::string text;
  };
  std::vector<Token> tokens;
  int line = passage.line;
  std::string token;
  const auto end_token = [&] {
    if (!token.empty()) tokens.push_back({line, token});
    token.clear();
  };
  for (const char byte : plain(passage.text)) {
    if (byte == ' ' || byte == '\n' || byte == '\t') {
      end_token();
      line += byte == '\n' ? 1 : 0;
    } else {
      token += byte;
    }
  }
  end_token();

  std::vector<Passage> sentences;
  Passage sentence;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (sentence.text.empty()) {
      sentence = {tokens[i].line, tokens[i].text};
    } else {
      sentence.text += ' ' + tokens[i].text;
    }
    const bool last = i + 1 == tokens.size();
    if (last || ends_sentence(tokens[i].text, tokens[i + 1].text)) {
      if (is_word(sentence.text)) sentences.push_back(sentence);
      sentence = {};
    }
  }
  return sentences;
}

int words_in(std::string_view text) {
  int words = 0;
  std::string token;
  for (const char byte : plain(std::string(text)) + ' ') {
    if (byte != ' ' && byte != '\n' && byte != '\t') {
      token += byte;
      continue;
    }
    words += is_word(token) ? 1 : 0;
    token.clear();
  }
  return words;
}

bool begins_badly(std::string_view text) {
  static constexpr std::array<std::string_view, 5> kOpenings = {"Of", "Likewise", "The same",
                                                                "Those", "What"};
  while (!text.empty() && !is_letter(text.front()) && text.front() != '`') text.remove_prefix(1);
  return std::ranges::any_of(kOpenings, [&](std::string_view opening) {
    if (!text.starts_with(opening)) return false;
    return text.size() == opening.size() ||
           (!is_letter(text[opening.size()]) && text[opening.size()] != '_');
  });
}

std::vector<Finding> findings_in(const Page& page, std::string_view name) {
  std::vector<Finding> findings;
  const auto opening = [&](const Passage& passage, const char* what) {
    if (begins_badly(passage.text)) {
      findings.push_back(
          {passage.line, std::string(what) + " begins with a forbidden word", passage.text});
    }
  };
  int words = 0;
  int count = 0;
  for (const Passage& paragraph : page.paragraphs) {
    for (const Passage& sentence : sentences_of(paragraph)) {
      const int length = words_in(sentence.text);
      words += length;
      ++count;
      opening(sentence, "sentence");
      if (length > kMaxSentenceWords) {
        findings.push_back({sentence.line,
                            figure("sentence of %.0f words, limit %.0f", length, kMaxSentenceWords),
                            sentence.text});
      }
    }
  }
  if (count > 0 && words > kMaxMeanWords * count) {
    findings.push_back(
        {1,
         figure("mean sentence of %.1f words, limit %.0f", 1.0 * words / count, kMaxMeanWords),
         {}});
  }
  for (const Passage& cell : page.cells) {
    const int length = words_in(cell.text);
    if (length > kMaxCellWords) {
      findings.push_back(
          {cell.line, figure("cell of %.0f words, limit %.0f", length, kMaxCellWords), cell.text});
    }
  }
  for (const Passage& heading : page.headings) opening(heading, "heading");
  for (const Passage& line : page.long_lines) {
    findings.push_back(
        {line.line, figure("line of more than %.0f characters", kMaxLine, 0.0), line.text});
  }
  const double lines = static_cast<double>(page.lines.size()) - page.comment_lines;
  if (lines > kMaxPageLines && !name.ends_with("_format.md")) {
    findings.push_back({1, figure("%.0f lines, limit %.0f", lines, kMaxPageLines), {}});
  }
  return findings;
}

}  // namespace neuroshard::docs
