#include "tools/console/resumable_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <optional>
#include <utility>

#include "message_of.h"
#include "temporary_folder.h"
#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using neuroshard::testing::message_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::nullopt_t kNone = std::nullopt;

class ResumableLinesTest : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  std::string output_ = folder_ / "out";
  std::string partial_ = folder_ / "out.partial";
};

TEST_F(ResumableLinesTest, KeepFinishedLinesUntilTheOutputIsWhole) {
  {
    ResumableLines lines(output_, 7, 3);
    EXPECT_THAT(lines.lines(), ElementsAre(kNone, kNone, kNone));
    lines.add(0, "one");
    lines.add(1, "two");
  }  // As if killed here, in the middle of the next line:
  std::ofstream(partial_, std::ios::app) << "thr";
  EXPECT_EQ(folder_.names(), std::set<std::string>{"out.partial"});
  ResumableLines lines(output_, 7, 3);
  EXPECT_THAT(lines.lines(), ElementsAre("one", "two", kNone));
  EXPECT_EQ(lines.damage(), "");
  lines.add(2, "three");
  lines.finish();
  EXPECT_EQ(contents_of(output_), "one\ntwo\nthree\n");
  EXPECT_EQ(folder_.names(), std::set<std::string>{"out"});
}

TEST_F(ResumableLinesTest, BeginAnewIfNotEvenTheHeadWasFinished) {
  folder_.write("out.partial", "{\"neuro");
  ResumableLines lines(output_, 7, 1);
  lines.add(0, "one");
  lines.finish();
  EXPECT_EQ(contents_of(output_), "one\n");
}

TEST_F(ResumableLinesTest, RefuseOtherWorkAndOtherFiles) {
  { ResumableLines(output_, 7, 3).add(0, "one"); }
  const std::string before = contents_of(partial_);
  EXPECT_THAT(message_of([&] { ResumableLines(output_, 8, 3); }), HasSubstr("other tasks"));
  EXPECT_EQ(contents_of(partial_), before);
  folder_.write("out.partial", "a diary\n");
  EXPECT_THAT(message_of([&] { ResumableLines(output_, 7, 3); }), HasSubstr("remove it"));
  EXPECT_EQ(contents_of(partial_), "a diary\n");
}

TEST_F(ResumableLinesTest, DoNotCountWhereTheyDoNotAgree) {
  {
    ResumableLines lines(output_, 7, 4);
    for (std::size_t i = 0; i < 4; ++i) lines.add(i, "line " + std::to_string(i));
  }
  const std::vector<std::string> whole = lines_of(contents_of(partial_));
  ASSERT_EQ(whole.size(), 5U);
  using Lines = std::vector<std::string>;
  struct Damage {
    const char* what;
    std::function<void(Lines&)> make;
    std::vector<std::size_t> lost;
    const char* words;
  };
  const Damage damages[] = {
      {"deleted", [](Lines& l) { l.erase(l.begin() + 2); }, {1}, "0 of its lines are damaged"},
      {"double", [](Lines& l) { l.insert(l.begin() + 2, l[2]); }, {}, "1 of its lines are damaged"},
      {"exchanged", [](Lines& l) { std::swap(l[1], l[3]); }, {}, ""},
      {"renumbered", [](Lines& l) { l[2].replace(17, 1, "3"); }, {1}, "1 of its lines"},
      {"changed", [](Lines& l) { l[4].back() = '7'; }, {3}, "1 of its lines"},
      {"other's", [](Lines& l) { l[3].replace(0, 16, l[2], 0, 16); }, {2}, "1 of its lines"},
      {"short", [](Lines& l) { l[1] = "x"; }, {0}, "1 missing before others"},
  };
  for (const Damage& damage : damages) {
    SCOPED_TRACE(damage.what);
    Lines changed = whole;
    damage.make(changed);
    std::string text;
    for (const std::string& line : changed) text += line + '\n';
    folder_.write("out.partial", text);
    ResumableLines lines(output_, 7, 4);
    if (*damage.words == '\0') {
      EXPECT_EQ(lines.damage(), "");
    } else {
      EXPECT_THAT(lines.damage(), HasSubstr(damage.words));
    }
    for (std::size_t i = 0; i < 4; ++i) {
      const bool lost = std::ranges::find(damage.lost, i) != damage.lost.end();
      EXPECT_EQ(lines.lines()[i].has_value(), !lost) << i;
      if (lost) lines.add(i, "line " + std::to_string(i));
    }
    lines.finish();
    EXPECT_EQ(contents_of(output_), "line 0\nline 1\nline 2\nline 3\n");
  }
}

TEST_F(ResumableLinesTest, RefuseASecondProcess) {
  const ResumableLines first(output_, 7, 3);
  EXPECT_THAT(message_of([&] { ResumableLines(output_, 7, 3); }), HasSubstr("another run"));
}

}  // namespace
}  // namespace neuroshard::tools
