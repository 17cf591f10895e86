#include "tools/command_line/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <sstream>

#include "tools/run_command.h"

namespace neuroshard::command_line {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A program whose command has a list, a list that may stay without values, and a text.
struct Lists {
  CLI::App program{"", "lists"};
  std::vector<int> numbers;
  std::vector<std::string> names;
  std::string text;

  Lists() {
    CLI::App* const command = program.add_subcommand("show");
    command->add_option("--numbers", numbers)->delimiter(',');
    command->add_option("--names", names)->delimiter(',')->expected(0, -1);
    command->add_option("--text", text);
  }

  std::string error(const std::vector<std::string>& args) {
    std::ostringstream out;
    std::ostringstream err;
    return parse(program, args, out, err) == kExitBadInput ? err.str() : "";
  }
};

TEST(Arguments, EmptyItemsOfListsAreErrors) {
  for (const std::string list : {"4,", ",4", "4,,8", ",", "[4,]"}) {
    for (const auto& args : std::vector<std::vector<std::string>>{{"show", "--numbers", list},
                                                                  {"show", "--numbers=" + list},
                                                                  {"show", "--numbers", "2", list},
                                                                  {"show", "--names", list}}) {
      SCOPED_TRACE(::testing::PrintToString(args));
      const std::string name = args[1].substr(0, args[1].find('='));
      EXPECT_EQ(Lists().error(args), "lists: error: " + name + ": '" + list +
                                         "' has an empty item; write what is missing, or leave "
                                         "out the comma\n");
    }
  }
}

TEST(Arguments, EmptyListsAreErrors) {
  for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
           {"show", "--numbers", ""}, {"show", "--numbers="}, {"show", "--numbers", "4", ""}}) {
    EXPECT_EQ(Lists().error(args),
              "lists: error: --numbers: '' has an empty item; give some, with a comma between "
              "two\n");
  }
}

TEST(Arguments, OtherListsAndTextsAreTakenAsTheyAre) {
  Lists lists;
  EXPECT_EQ(lists.error({"show", "--numbers", "4,8", "--names", "--text", "a,,b"}), "");
  EXPECT_THAT(lists.numbers, ElementsAre(4, 8));
  EXPECT_EQ(lists.text, "a,,b");
}

TEST(Arguments, WhatIsNoNumberIsAnsweredWithHowToGiveSome) {
  EXPECT_EQ(Lists().error({"show", "--numbers", "4,x"}),
            "lists: error: Could not convert: --numbers = 4,x; give numbers with a comma between "
            "two, e.g. 4,8; see 'lists show --help'\n");
}

TEST(Arguments, AllListsOfTheProgramAreLookedAt) {
  const std::vector<std::vector<std::string>> commands = {{"plan", "--devices"},
                                                          {"plan", "--memory-gb"},
                                                          {"replan", "--lost-devices"},
                                                          {"collect", "all-reduce", "--devices"},
                                                          {"train", "compute", "--table-layers"},
                                                          {"train", "compute", "--head-layers"},
                                                          {"train", "comm", "--layers"}};
  for (std::vector<std::string> args : commands) {
    SCOPED_TRACE(::testing::PrintToString(args));
    const std::string option = args.back();
    args.emplace_back("4,");
    const tools::Outcome outcome = tools::run_command(args);
    EXPECT_EQ(outcome.code, kExitBadInput);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, HasSubstr("error: " + option + ": '4,' has an empty item"));
  }
}

}  // namespace
}  // namespace neuroshard::command_line
