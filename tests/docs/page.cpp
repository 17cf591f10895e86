#include "docs/page.h"

#include <algorithm>
#include <regex>

namespace neuroshard::docs {
namespace {

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

int characters(std::string_view utf8) {
  return static_cast<int>(std::count_if(utf8.begin(), utf8.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
  }));
}

class Parser {
 public:
  explicit Parser(std::string_view text) { page_.lines = split_lines(text); }

  Page parse() {
    const int count = static_cast<int>(page_.lines.size());
    while (at_ < count) {
      const std::string line = trimmed(page_.lines[at_]);
      if (line.starts_with("```")) {
        take_fence(line);
      } else if (line.starts_with("<!--")) {
        take_comment();
      } else {
        take_line(line);
      }
    }
    end_paragraph();
    return std::move(page_);
  }

 private:
  void end_paragraph() {
    if (!paragraph_.text.empty()) page_.paragraphs.push_back(std::move(paragraph_));
    paragraph_ = {};
  }

  void take_fence(const std::string& line) {
    end_paragraph();
    Block block;
    block.language = trimmed(std::string_view(line).substr(3));
    block.not_run = std::move(not_run_);
    not_run_.reset();
    const auto indent = page_.lines[at_++].find('`');
    block.line = at_ + 1;
    while (at_ < static_cast<int>(page_.lines.size())) {
      const std::string& inner = page_.lines[at_++];
      if (trimmed(inner).starts_with("```")) break;
      block.text += inner.substr(std::min(indent, inner.find_first_not_of(' ') == std::string::npos
                                                      ? inner.size()
                                                      : inner.find_first_not_of(' '))) +
                    '\n';
    }
    page_.blocks.push_back(std::move(block));
  }

  void take_comment() {
    end_paragraph();
    std::string text;
    const int first = at_;
    while (at_ < static_cast<int>(page_.lines.size())) {
      text += page_.lines[at_++] + '\n';
      ++page_.comment_lines;
      if (text.find("-->") != std::string::npos) break;
    }
    const auto open = text.find("<!--") + 4;
    const std::string inside = text.substr(open, text.find("-->") - open);
    const std::string said = trimmed(inside);
    if (said.starts_with("not run:")) {
      not_run_ = trimmed(std::string_view(said).substr(8));
    } else if (said.starts_with("run first:")) {
      const auto end = inside.find('\n');
      Block block;
      block.line = first + 2;
      block.hidden = true;
      block.language = trimmed(inside.substr(inside.find(':') + 1, end - inside.find(':') - 1));
      if (end != std::string::npos) block.text = inside.substr(end + 1);
      page_.blocks.push_back(std::move(block));
    }
  }

  void take_line(const std::string& line) {
    static const std::regex kRule("[|: -]+");
    static const std::regex kItem("([*+-]|[0-9]+[.)])[ \t]+(.*)");
    const int number = ++at_;
    if (!line.empty()) not_run_.reset();  // It is not directly before a fence.
    if (line.starts_with('|')) {
      end_paragraph();
      if (!std::regex_match(line, kRule)) take_cells(line, number);
      return;
    }
    if (characters(page_.lines[number - 1]) > kMaxLine) page_.long_lines.push_back({number, line});
    if (line.starts_with('#')) {
      end_paragraph();
      page_.headings.push_back({number, trimmed(line.substr(line.find_first_not_of('#')))});
      return;
    }
    if (line.empty() || line.starts_with("![")) {
      end_paragraph();
      return;
    }
    std::smatch item;
    std::string text = line;
    if (std::regex_match(line, item, kItem)) {
      end_paragraph();
      text = item[2];
    } else if (line.starts_with('>')) {
      text = trimmed(line.substr(1));
    }
    if (paragraph_.text.empty()) {
      paragraph_ = {number, text};
    } else {
      paragraph_.text += '\n' + text;
    }
  }

  void take_cells(const std::string& line, int number) {
    std::string cell;
    const auto end_cell = [&] {
      if (!trimmed(cell).empty()) page_.cells.push_back({number, trimmed(cell)});
      cell.clear();
    };
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '\\' && i + 1 < line.size() && line[i + 1] == '|') {
        cell += line[++i];
      } else if (line[i] == '|') {
        end_cell();
      } else {
        cell += line[i];
      }
    }
    end_cell();
  }

  Page page_;
  Passage paragraph_;
  std::optional<std::string> not_run_;
  int at_ = 0;
};

}  // namespace

Page parse_page(std::string_view text) { return Parser(text).parse(); }

bool runs_in_order(const Page& page) {
  return std::ranges::find(page.lines, "<!-- run in order -->") != page.lines.end();
}

std::vector<std::string> files_of(const std::filesystem::path& source) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  fs::recursive_directory_iterator entries(source);
  for (auto entry = begin(entries); entry != end(entries); ++entry) {
    const std::string name = entry->path().filename().string();
    const std::string path = fs::relative(entry->path(), source).generic_string();
    if (entry->is_directory()) {
      const bool hidden = name.starts_with('.') && path != ".ci";
      if (hidden || name == "build" || name == "__pycache__" || path == "tests/data") {
        entry.disable_recursion_pending();
      }
    } else if (entry->is_regular_file() && !entry->is_symlink()) {
      files.push_back(path);
    }
  }
  std::ranges::sort(files);
  return files;
}

std::vector<std::string> pages_of(const std::filesystem::path& source) {
  std::vector<std::string> pages;
  for (const std::string& file : files_of(source)) {
    const bool readme = file == "README.md" || file.ends_with("/README.md");
    if (readme || file == "CONTRIBUTING.md" ||
        (file.starts_with("docs/") && file.ends_with(".md"))) {
      pages.push_back(file);
    }
  }
  return pages;
}

}  // namespace neuroshard::docs
