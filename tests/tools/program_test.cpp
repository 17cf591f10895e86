#include "tools/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <sstream>

#include "neuroshard/version.h"
#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Program, HelpAndVersionGoToStandardOutput) {
  const Outcome help = run_command({"--help"});
  EXPECT_EQ(help.code, kExitOk);
  EXPECT_THAT(help.out, HasSubstr("Exit codes"));
  EXPECT_EQ(help.err, "");
  const Outcome version = run_command({"--version"});
  EXPECT_EQ(version.code, kExitOk);
  EXPECT_THAT(version.out, StartsWith("neuroshard "));
}

TEST(Program, BadUsageIsReportedOnStandardError) {
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{}, {"frobnicate"}, {"--frobnicate"}}) {
    const Outcome outcome = run_command(args);
    EXPECT_EQ(outcome.code, kExitBadInput);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, StartsWith("neuroshard: error: "));
    EXPECT_THAT(outcome.err, HasSubstr("--help"));
  }
}

TEST(Program, VersionSaysWhatWasBuiltAndWhatRunsHere) {
  const auto lines = lines_of(run_command({"--version"}).out);
  ASSERT_GE(lines.size(), 4U);
  EXPECT_EQ(lines[0], "neuroshard " NEUROSHARD_VERSION);
  EXPECT_THAT(lines[1], ContainsRegex("^commit    ([0-9a-f]{12}|unknown)"));
  EXPECT_THAT(lines[2], ContainsRegex("^backends  .*scalar.*cuda"));
  EXPECT_THAT(lines[3], StartsWith("weights   built-in weights (hardware: "));
}

TEST(Program, MistypedNamesAreAnsweredWithTheNearest) {
  const auto error = [](const std::vector<std::string>& args) { return run_command(args).err; };
  EXPECT_EQ(error({"pln"}),
            "neuroshard: error: there is no command 'pln'; did you mean 'plan'? See 'neuroshard "
            "--help'\n");
  EXPECT_THAT(error({"simluate", "--task", "x"}), HasSubstr("did you mean 'simulate'?"));
  EXPECT_THAT(error({"plan", "--taks", "x"}),
              HasSubstr("there is no option '--taks'; did you mean '--task'? See 'neuroshard plan "
                        "--help'"));
  EXPECT_THAT(error({"plan", "--task", "x", "--ouput=y"}), HasSubstr("did you mean '--output'?"));
  EXPECT_THAT(error({"plan", "--task", "x", "--deadline", "5"}),
              HasSubstr("did you mean '--deadline-ms'?"));
  EXPECT_THAT(error({"plan", "x.json"}), HasSubstr("name its option before it"));
  EXPECT_THAT(error({"plan", "--task", "x", "--memory", "5"}),
              HasSubstr("did you mean '--memory-gb'?"));
  EXPECT_THAT(error({"collect", "compue"}),
              HasSubstr("did you mean 'compute'? See 'neuroshard collect --help'"));
  EXPECT_EQ(error({"frobnicate"}),
            "neuroshard: error: there is no command 'frobnicate'; see 'neuroshard --help'\n");
}

TEST(Program, HelpStaysWithin100Columns) {
  const std::vector<std::vector<std::string>> commands = {{},
                                                          {"plan"},
                                                          {"replan"},
                                                          {"simulate"},
                                                          {"inspect"},
                                                          {"convert"},
                                                          {"profile"},
                                                          {"generate"},
                                                          {"collect"},
                                                          {"collect", "compute"},
                                                          {"collect", "comm"},
                                                          {"train"},
                                                          {"train", "compute"},
                                                          {"train", "comm"},
                                                          {"evaluate"},
                                                          {"evaluate", "compute"},
                                                          {"evaluate", "comm"},
                                                          {"bound"},
                                                          {"check"},
                                                          {"explain"},
                                                          {"fingerprint"},
                                                          {"groups"}};
  for (std::vector<std::string> args : commands) {
    args.emplace_back("--help");
    const Outcome help = run_command(args);
    EXPECT_EQ(help.code, kExitOk);
    EXPECT_THAT(help.out, HasSubstr("Usage: neuroshard"));
    for (const std::string& line : lines_of(help.out)) EXPECT_LE(line.size(), 100U) << line;
  }
}

TEST(Program, ExitCodesAreThoseOfTheCommand) {
  EXPECT_THAT(run_command({"plan", "--help"}).out, HasSubstr("1 some task has none"));
  for (const char* command : {"collect", "train", "evaluate"}) {
    EXPECT_THAT(run_command({command, "--help"}).out, Not(HasSubstr("has no plan")));
  }
}

TEST(Program, MakesOptionsOfTheCommandThatIsMeantAlone) {
  const auto commands_with = [](const std::vector<std::string>& args) {
    Action chosen;
    const std::shared_ptr<CLI::App> program = make_program(chosen, args);
    std::vector<std::string> names;
    for (const CLI::App* command : program->get_subcommands({})) {
      names.push_back(command->get_name());
    }
    return names;
  };
  const std::vector<std::string> all = commands_with({});
  ASSERT_GT(all.size(), 1U);
  for (const std::string& name : all) {
    EXPECT_THAT(commands_with({name, "--help"}), ElementsAre(name));
  }
  EXPECT_THAT(commands_with({"--version"}), IsEmpty());
  EXPECT_EQ(commands_with({"--help"}), all);
  EXPECT_EQ(commands_with({"pln"}), all);
}

TEST(Program, LostOutputIsAnError) {
  std::ostringstream out;
  std::ostringstream err;
  out.setstate(std::ios::badbit);
  Console console{out, err};
  EXPECT_EQ(run_program({"--help"}, console), kExitBadInput);
  EXPECT_THAT(err.str(), HasSubstr("standard output: not everything could be written"));
}

}  // namespace
}  // namespace neuroshard::tools
