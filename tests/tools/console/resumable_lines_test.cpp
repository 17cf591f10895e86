#include "tools/console/resumable_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "message_of.h"
#include "temporary_folder.h"

namespace neuroshard::tools {
namespace {

using neuroshard::testing::message_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ResumableLinesTest : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  std::string output_ = folder_ / "out";
  std::string partial_ = folder_ / "out.partial";
};

TEST_F(ResumableLinesTest, KeepFinishedLinesUntilTheOutputIsWhole) {
  {
    ResumableLines lines(output_, 7);
    EXPECT_THAT(lines.lines(), IsEmpty());
    lines.add("one");
    lines.add("two");
  }  // As if killed here, in the middle of the next line:
  std::ofstream(partial_, std::ios::app) << "thr";
  EXPECT_EQ(folder_.names(), std::set<std::string>{"out.partial"});
  ResumableLines lines(output_, 7);
  EXPECT_THAT(lines.lines(), ElementsAre("one", "two"));
  lines.add("three");
  lines.finish();
  EXPECT_EQ(contents_of(output_), "one\ntwo\nthree\n");
  EXPECT_EQ(folder_.names(), std::set<std::string>{"out"});
}

TEST_F(ResumableLinesTest, BeginAnewIfNotEvenTheHeadWasFinished) {
  folder_.write("out.partial", "{\"neuro");
  ResumableLines lines(output_, 7);
  lines.add("one");
  lines.finish();
  EXPECT_EQ(contents_of(output_), "one\n");
}

TEST_F(ResumableLinesTest, RefuseOtherWorkAndOtherFiles) {
  { ResumableLines(output_, 7).add("one"); }
  const std::string before = contents_of(partial_);
  EXPECT_THAT(message_of([&] { ResumableLines(output_, 8); }), HasSubstr("other tasks"));
  EXPECT_EQ(contents_of(partial_), before);
  folder_.write("out.partial", "a diary\n");
  EXPECT_THAT(message_of([&] { ResumableLines(output_, 7); }), HasSubstr("remove it"));
  EXPECT_EQ(contents_of(partial_), "a diary\n");
}

TEST_F(ResumableLinesTest, RefuseASecondProcess) {
  const ResumableLines first(output_, 7);
  EXPECT_THAT(message_of([&] { ResumableLines(output_, 7); }), HasSubstr("another run"));
}

}  // namespace
}  // namespace neuroshard::tools
