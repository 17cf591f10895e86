#include "tools/program_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <fstream>

#include "tools/program.h"
#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

class ProgramPages : public ::testing::Test {
 protected:
  // Completions that bash offers for the last of `words`, sorted.
  std::vector<std::string> completed(const std::string& words) {
    std::ofstream(folder_ / "complete") << bash_completion(*program_) << "COMP_WORDS=(" << words
                                        << ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_neuroshard\n"
                                        << "printf '%s\\n' \"${COMPREPLY[@]}\" | sort\n";
    const std::string command = "cd '" + std::string(NEUROSHARD_EXAMPLES) + "' && LC_ALL=C bash '" +
                                (folder_ / "complete") + "' >'" + (folder_ / "out") + "' 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0);
    return lines_of(contents_of(folder_ / "out"));
  }

  Action chosen_;
  std::shared_ptr<CLI::App> program_ = make_program(chosen_);
  TemporaryFolder folder_;
};

TEST_F(ProgramPages, ManualHasEveryOption) {
  const std::string page = man_page(*program_);
  EXPECT_THAT(page, ::testing::StartsWith(".TH NEUROSHARD 1"));
  EXPECT_THAT(page, HasSubstr("\n.SH neuroshard collect compute\n"));
  EXPECT_THAT(page, HasSubstr(".TP\n\\fB\\-\\-task\\fR \\fIFILE\\fR\nTask file"));
  EXPECT_THAT(page, HasSubstr("\\fB\\-\\-effort\\fR \\fINAME\\fR\n"));
  EXPECT_THAT(page, HasSubstr("(default)\n"));
  // Every line that begins with a point is a request that we make.
  for (const std::string& line : lines_of(page)) {
    if (!line.starts_with('.')) continue;
    EXPECT_THAT(line.substr(0, 3),
                ::testing::AnyOf(".TH", ".SH", ".TP", ".B ", ".I ", ".PP", ".nf", ".fi"))
        << line;
  }
}

TEST_F(ProgramPages, BashCompletesCommandsOptionsAndFiles) {
  EXPECT_THAT(completed("neuroshard pl"), ElementsAre("plan"));
  EXPECT_THAT(completed("neuroshard --v"), ElementsAre("--version"));
  EXPECT_THAT(completed("neuroshard plan --ta"), ElementsAre("--tables", "--task", "--tasks"));
  EXPECT_THAT(completed("neuroshard collect co"), ElementsAre("comm", "compute"));
  EXPECT_THAT(completed("neuroshard collect compute --back"), ElementsAre("--backend"));
  EXPECT_THAT(completed("neuroshard plan --task dl"), ElementsAre("dlrm_v2_8gpu.json"));
  EXPECT_THAT(completed("neuroshard plan --task x --effort ''"), ElementsAre(""));
  EXPECT_THAT(completed("neuroshard plan --task x --eff"), ElementsAre("--effort"));
  EXPECT_THAT(completed("neuroshard ''"), IsSupersetOf({"plan", "simulate", "train"}));
}

TEST_F(ProgramPages, ZshHasEveryCommandWithItsOptions) {
  const std::string script = zsh_completion(*program_);
  EXPECT_THAT(script, ::testing::StartsWith("#compdef neuroshard\n"));
  EXPECT_THAT(script, HasSubstr("    'collect compute')\n      _arguments "));
  EXPECT_THAT(script, HasSubstr("'--task[Task file (docs/task_format.md); -\\: standard input]"
                                ":FILE:_files'"));
  EXPECT_THAT(script, HasSubstr("'plan:Find the sharding plan of lowest cost'"));
  if (std::system("command -v zsh >/dev/null") != 0) return;
  std::ofstream(folder_ / "_neuroshard") << script;
  EXPECT_EQ(std::system(("zsh -n '" + (folder_ / "_neuroshard") + "'").c_str()), 0);
}

}  // namespace
}  // namespace neuroshard::tools
