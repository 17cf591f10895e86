// Commands, programs and documents that pages show are right: commands run, programs compile,
// documents are read. Python is run by tests/python/pages.py.
//
// A page may say, in comments of its own lines that readers do not see:
//   <!-- not run: REASON -->          directly before the fence of a block that cannot run here;
//   <!-- run first: LANGUAGE ... -->  a hidden block, over several lines: files that others read;
//   <!-- run in order -->             commands and Python are one session (tests/python/pages.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "docs/page.h"
#include "neuroshard/plan_file.h"
#include "neuroshard/planner.h"
#include "neuroshard/task_file.h"
#include "neuroshard/weights.h"
#include "temporary_folder.h"

namespace neuroshard::docs {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kSource = NEUROSHARD_SOURCE;
constexpr int kSecondsOfAPage = 300;

std::string in_source(const std::string& path) { return std::string(kSource) + '/' + path; }

Page load_page(const std::string& name) { return parse_page(contents_of(in_source(name))); }

std::string place(const std::string& page, const Block& block) {
  return page + ':' + std::to_string(block.line);
}

bool is_run(const Block& block, std::string_view language) {
  return block.language == language && !block.not_run;
}

// `command` is for a shell; what it prints comes back with its exit status.
struct Ended {
  int status = 0;
  std::string printed;
};
Ended run(const std::string& command) {
  const TemporaryFolder folder;
  const std::string out = folder / "out";
  const std::string whole = "{ " + command + "\n} >'" + out + "' 2>&1 </dev/null";
  const int status = std::system(whole.c_str());
  return {.status = status, .printed = contents_of(out)};
}

std::string end_of(const std::string& text, std::size_t bytes = 3000) {
  return text.size() <= bytes ? text : "..." + text.substr(text.size() - bytes);
}

std::string test_name(const ::testing::TestParamInfo<std::string>& page) {
  return std::regex_replace(fs::path(page.param).replace_extension().string(),
                            std::regex("[^A-Za-z0-9]"), "_");
}

// Pages whose commands are run here.
std::vector<std::string> pages_with_commands() {
  std::vector<std::string> pages;
  for (const std::string& name : pages_of(kSource)) {
    const Page page = load_page(name);
    const bool commands = std::ranges::any_of(
        page.blocks, [](const Block& block) { return is_run(block, "sh") && !block.hidden; });
    if (commands && !runs_in_order(page)) pages.push_back(name);
  }
  return pages;
}

class Commands : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(OfPage, Commands, ::testing::ValuesIn(pages_with_commands()), test_name);

// The blocks of a page are one session of a shell, in an empty folder, so that one may use what
// those before it have made. Programs of the build are found, and files of the repository.
TEST_P(Commands, Run) {
  const Page page = load_page(GetParam());
  const TemporaryFolder folder;
  for (const char* name : {"bin", "scratch"}) fs::create_directory(folder / name);
  fs::create_symlink(NEUROSHARD_PROGRAM, folder / "bin/neuroshard");
  const std::string nsbench = NEUROSHARD_NSBENCH;
  if (!nsbench.empty()) fs::create_symlink(nsbench, folder / "bin/nsbench");
  for (const char* name : {"bench", "cuda", "docs", "tests", "tools", "weights"}) {
    fs::create_symlink(in_source(name), folder / (std::string("scratch/") + name));
  }

  std::string script = "set -euo pipefail\n";
  for (const Block& block : page.blocks) {
    if (!is_run(block, "sh")) continue;
    if (nsbench.empty() && block.text.find("nsbench") != std::string::npos) {
      std::cout << place(GetParam(), block) << ": not run, since nsbench is not built\n";
      continue;
    }
    script += "echo " + std::to_string(block.line) + " >\"$NEUROSHARD_LINE\"\n" + block.text + '\n';
  }
  const std::string path = folder.write("commands", script);
  const std::string line = folder.write("line", "0");
  const Ended outcome = run("cd '" + folder / "scratch" + "' && PATH='" + folder / "bin" +
                            "':\"$PATH\" HOME=\"$PWD\" NEUROSHARD_LINE='" + line + "' timeout " +
                            std::to_string(kSecondsOfAPage) + " bash '" + path + "'");
  EXPECT_EQ(outcome.status, 0) << GetParam() << ": the block of line " << contents_of(line)
                               << "ended with\n"
                               << end_of(outcome.printed);
}

// Whether a file below one of `folders` has the block word for word: tests build it there.
bool is_part_of(const std::string& text, std::initializer_list<const char*> folders) {
  for (const char* folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(in_source(folder))) {
      if (entry.is_regular_file() &&
          contents_of(entry.path().string()).find(text) != std::string::npos) {
        return true;
      }
    }
  }
  return false;
}

// Programs compile. A block without main() becomes the body of one, behind the page's hidden
// blocks of the language.
void compile(const std::string& page, const Page& parsed, const std::string& language,
             const std::string& command) {
  std::string first;
  for (const Block& block : parsed.blocks) {
    if (!is_run(block, language)) continue;
    if (block.hidden) {
      first += block.text;
      continue;
    }
    if (is_part_of(block.text, {"tests/installation/consumer", "tools/examples/c"})) continue;
    const bool whole = block.text.find("int main(") != std::string::npos;
    const TemporaryFolder folder;
    const std::string path = folder.write(
        "program." + language,
        whole ? block.text : first + "int main(void) {\n" + block.text + "return 0;\n}\n");
    const Ended outcome = run(command + " '" + path + '\'');
    EXPECT_EQ(outcome.status, 0) << place(page, block) << '\n' << end_of(outcome.printed);
  }
}

TEST(EveryBlock, OfAProgramCompiles) {
  const std::string include = " -fsyntax-only -Wall -Wextra -Werror " NEUROSHARD_INCLUDES;
  for (const std::string& name : pages_of(kSource)) {
    const Page page = load_page(name);
    compile(name, page, "c", NEUROSHARD_C_COMPILER " -std=c99" + include);
    compile(name, page, "cpp", NEUROSHARD_CXX_COMPILER " -std=c++20" + include);
    for (const Block& block : page.blocks) {
      if (is_run(block, "cmake")) {
        EXPECT_TRUE(is_part_of(block.text, {"tests/installation"}))
            << place(name, block) << ": no test of tests/installation builds this project";
      }
    }
  }
}

std::optional<json> parsed(const std::string& text) {
  json document = json::parse(text, nullptr, false);
  if (document.is_discarded()) return std::nullopt;
  return document;
}

// The documents of a block: one, one a line, members of an object, or elements of a list.
struct Documents {
  std::vector<json> documents;
  bool members = false;
};
std::optional<Documents> documents_of(const std::string& text) {
  if (auto whole = parsed(text)) return Documents{{*whole}};
  if (auto members = parsed('{' + text + '}')) return Documents{{*members}, true};
  if (auto list = parsed('[' + text + ']')) return Documents{list->get<std::vector<json>>()};
  Documents lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    auto document = parsed(line);
    if (!document) return std::nullopt;
    lines.documents.push_back(std::move(*document));
  }
  return lines;
}

void plan_task(const json& task, const std::string& where) {
  const TaskFile file = parse_task(task.dump(), where);
  const CostModels models = file.hardware ? builtin_weights(*file.hardware) : builtin_weights();
  const PlanResult result = Planner(models).plan(task_of(file));
  EXPECT_TRUE(result.plan) << where << ": "
                           << (result.infeasible ? result.infeasible->message : "");
}

// Tasks are planned. Members of tasks, and tables, are planned as parts of the task that the page's
// hidden block has; what that task says beside is overwritten.
void read_documents(const std::string& page, const Page& parsed_page) {
  std::optional<json> base;
  for (const Block& block : parsed_page.blocks) {
    if (!is_run(block, "json")) continue;
    const std::string where = place(page, block);
    SCOPED_TRACE(where);
    const auto documents = documents_of(block.text);
    if (!documents) {
      ADD_FAILURE() << where << ": no JSON\n" << block.text;
      continue;
    }
    try {
      if (block.hidden) {
        base = documents->documents.at(0);
        continue;
      }
      std::vector<json> tables;
      for (const json& document : documents->documents) {
        const std::string format = document.value("format", "");
        if (format == "neuroshard.task") plan_task(document, where);
        if (format == "neuroshard.plan" || (document.contains("shards") && !documents->members)) {
          (void)parse_plans(document.dump(), where);
        }
        if (documents->members && base) {
          json task = *base;
          task.update(document);
          plan_task(task, where);
        }
        if (document.contains("row") && document.contains("dim")) tables.push_back(document);
      }
      if (base && !tables.empty()) {
        json task = *base;
        task["tables"] = tables;
        plan_task(task, where);
      }
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

TEST(EveryBlock, OfJsonIsRead) {
  for (const std::string& name : pages_of(kSource)) read_documents(name, load_page(name));
}

TEST(EveryBlock, RunsOrSaysWhyNot) {
  static const std::vector<std::string> kLanguages = {"sh", "python", "c", "cpp", "cmake", "json"};
  std::map<std::string, int> run;
  std::map<std::string, int> not_run;
  for (const std::string& name : pages_of(kSource)) {
    for (const Block& block : load_page(name).blocks) {
      if (block.language.empty()) {
        EXPECT_FALSE(block.hidden || block.not_run)
            << place(name, block) << ": a block that is only shown needs no comment";
        continue;
      }
      EXPECT_THAT(kLanguages, ::testing::Contains(block.language)) << place(name, block);
      if (block.not_run) {
        EXPECT_THAT(*block.not_run, ::testing::ContainsRegex("[A-Za-z]+.*[A-Za-z]+"))
            << place(name, block) << ": say why it is not run: <!-- not run: REASON -->";
        std::cout << place(name, block) << ": not run: " << *block.not_run << '\n';
        ++not_run[block.language];
      } else if (!block.hidden) {
        ++run[block.language];
      }
    }
  }
  for (const std::string& language : kLanguages) {
    std::cout << language << ": " << run[language] << " blocks run, " << not_run[language]
              << " do not\n";
  }
  EXPECT_GE(run["sh"], 20) << "the tests look at little";
  EXPECT_GE(run["json"], 15) << "the tests look at little";
}

}  // namespace
}  // namespace neuroshard::docs
