#include "neuroshard/training_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "golden.h"
#include "message_of.h"
#include "weights/training/golden_samples.h"

namespace neuroshard {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::message_of;
using Folders = std::vector<std::filesystem::path>;

TEST(ComputeSamples, ReadsThePublishedFormat) {
  const ComputeSamples& samples = testing::golden_compute_samples();
  EXPECT_EQ(samples.tables.size(), 5136U);
  ASSERT_EQ(samples.size(), 2000U);
  ASSERT_EQ(samples.offsets.size(), 2001U);
  // Line 3 of the file: 2240,1823,4514,2902 2.6253288227045086
  EXPECT_THAT(std::vector(samples.table_ids.begin() + samples.offsets[2],
                          samples.table_ids.begin() + samples.offsets[3]),
              ::testing::ElementsAre(2240, 1823, 4514, 2902));
  EXPECT_FLOAT_EQ(samples.cost_ms[2], 2.6253288F);
  EXPECT_EQ(samples.tables[2240].dim, 32);
}

TEST(ComputeSamples, PutsFoldersTogether) {
  const TemporaryFolder one;
  const TemporaryFolder two;
  testing::write_compute_folder(one, "1,2 3.5\n", {128});
  testing::write_compute_folder(two, "0 1.5\n\n4,4 2\r\n",
                                {128});  // Blank lines and CRLF do not matter.
  const ComputeSamples samples = read_compute_samples(Folders{one / "", two / ""});
  EXPECT_EQ(samples.tables.size(), 2 * 856U);
  EXPECT_THAT(samples.table_ids, ::testing::ElementsAre(1, 2, 856, 860, 860));
  EXPECT_THAT(samples.offsets, ::testing::ElementsAre(0, 2, 3, 5));
  EXPECT_THAT(samples.cost_ms, ::testing::ElementsAre(3.5F, 1.5F, 2.0F));
}

TEST(ComputeSamples, MaySayHowManySamplesTheyServe) {
  const TemporaryFolder one;
  const TemporaryFolder two;
  testing::write_compute_folder(one, "1,2 3.5\n3 1 4096\n", {128});
  testing::write_compute_folder(two, "0 1.5\n", {128});
  const ComputeSamples samples = read_compute_samples(Folders{one / "", two / ""});
  EXPECT_THAT(samples.served, ::testing::ElementsAre(65536, 4096, 65536));
  EXPECT_EQ(samples.served_by(1), 4096);
  EXPECT_TRUE(read_compute_samples(Folders{two / ""}).served.empty());
}

TEST(CollectiveSamples, AreReadAndChecked) {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& lines) {
    std::ofstream(folder / "data.txt") << lines;
    return read_collective_samples(Folders{folder / ""});
  };
  const CollectiveSamples samples = read("8 1024 0.5\n16 1048576 2\n");
  EXPECT_THAT(samples.devices, ::testing::ElementsAre(8, 16));
  EXPECT_THAT(samples.bytes, ::testing::ElementsAre(1024.0, 1048576.0));
  EXPECT_THAT(samples.cost_ms, ::testing::ElementsAre(0.5F, 2.0F));
  EXPECT_THAT(message_of([&] { (void)read("0 1024 0.5\n"); }), HasSubstr("devices 0"));
  EXPECT_THAT(message_of([&] { (void)read("8 0 0.5\n"); }), HasSubstr("bytes 0"));
  EXPECT_THAT(message_of([&] { (void)read("8 9 -1\n"); }), HasSubstr("data.txt:1: cost is '-1'"));
  EXPECT_THAT(message_of([&] { (void)read("8 9\n"); }), HasSubstr("2 groups"));
}

struct BadLine {
  const char* line;
  const char* message;
};

class BadComputeLine : public ::testing::TestWithParam<BadLine> {};

TEST_P(BadComputeLine, IsNamedWithFileAndLine) {
  const TemporaryFolder folder;
  testing::write_compute_folder(folder, std::string("1,2 3.5\n3 1\n") + GetParam().line, {128});
  EXPECT_THAT(message_of([&] { (void)read_compute_samples(Folders{folder / ""}); }),
              AllOf(HasSubstr("data.txt:3: "), HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    Lines, BadComputeLine,
    ::testing::Values(BadLine{"1,2 nan", "cost is 'nan'"}, BadLine{"1,2 inf", "cost is 'inf'"},
                      BadLine{"1,2 -0.5", "cost is '-0.5'"}, BadLine{"1,2 1e99", "cost is '1e99'"},
                      BadLine{"1,2", "1 groups"}, BadLine{"1,2 3 4 5", "4 groups"},
                      BadLine{"1,2  4", "cost ''"}, BadLine{"1,2 3 0", "number of samples 0"},
                      BadLine{"1,2 3 4,5", "more than one number of samples"},
                      BadLine{"1,2 3,4", "more than one cost"}, BadLine{"1,,2 3", "table id ''"},
                      BadLine{" 3", "table id ''"}, BadLine{"1,x 3", "table id 'x'"},
                      BadLine{"1,856 3", "table id 856"}, BadLine{"-1 3", "table id -1"},
                      BadLine{"1,2 3.5x", "cost '3.5x'"}, BadLine{"1,2 0x3", "cost '0x3'"}));

TEST(ComputeSamples, NamesTheTableThatIsWrong) {
  const TemporaryFolder folder;
  testing::write_compute_folder(folder, "1 1\n", {128});
  std::string text = contents_of(folder / "table_configs.json");
  const std::string dim = "\"dim\":128";
  text.replace(text.find(dim), dim.size(), "\"dim\":126");
  folder.write("table_configs.json", text);
  EXPECT_THAT(message_of([&] { (void)read_compute_samples(Folders{folder / ""}); }),
              AllOf(HasSubstr("table_configs.json: table 0"), HasSubstr("126")));
}

// Models are not trained on what plans may not be made of: there is one reader of tables.
TEST(ComputeSamples, TakesTablesByTheRulesOfTasks) {
  const std::string table = R"({"row": 100, "pooling_factor": 2.0, "dim": 8)";
  const auto read = [](const std::string& tables) {
    const TemporaryFolder folder;
    folder.write("table_configs.json", tables);
    folder.write("data.txt", "0 1\n");
    return read_compute_samples(Folders{folder / ""});
  };
  const auto error = [&](const std::string& tables) {
    return message_of([&] { (void)read(tables); });
  };
  EXPECT_EQ(read("[" + table + "}]").tables.size(), 1U);
  EXPECT_THAT(error("[" + table + R"(, "bin0": 1.0}])"), HasSubstr("unknown field 'bin0'"));
  EXPECT_THAT(error("[" + table + R"(, "bin_0": 1.0}])"), HasSubstr("'bin_1' is missing"));
  EXPECT_THAT(error(R"([{"row": 100, "pooling_factor": 2.0}])"),
              HasSubstr("table_configs.json: table 0: the field 'dim' is missing"));
  EXPECT_THAT(error("[]"), HasSubstr("lists no tables"));
}

TEST(ComputeSamples, SaysWhichFileIsMissing) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of([&] { (void)read_compute_samples(Folders{folder / ""}); }, ErrorKind::kIo),
              HasSubstr("table_configs.json"));
  testing::write_compute_folder(folder, "", {128});
  std::filesystem::remove(folder / "data.txt");
  EXPECT_THAT(message_of([&] { (void)read_compute_samples(Folders{folder / ""}); }, ErrorKind::kIo),
              HasSubstr("data.txt"));
}

TEST(ComputeSamples, AreReadWithinLimits) {
  const TemporaryFolder folder;
  testing::write_compute_folder(folder, "1,2 3.5\n" + std::string(3'000'000, '1') + " 3\n", {128});
  EXPECT_THAT(message_of([&] { (void)read_compute_samples(Folders{folder / ""}); }),
              HasSubstr("data.txt:2: is longer than 1048576 bytes"));
  std::filesystem::resize_file(folder / "data.txt", std::uintmax_t{1} << 40);  // Takes no room.
  EXPECT_THAT(message_of([&] { (void)read_compute_samples(Folders{folder / ""}); }, ErrorKind::kIo),
              HasSubstr("data.txt: has 1099511627776 bytes; at most 1073741824"));
}

TEST(CommSamples, ReadsThePublishedFormat) {
  const std::vector<CommSamples>& sets = testing::golden_comm_samples();
  ASSERT_EQ(sets.size(), 3U);
  EXPECT_EQ(sets[0].devices, 2);
  EXPECT_EQ(sets[2].devices, 8);
  const CommSamples& four = sets[1];
  ASSERT_EQ(four.devices, 4);
  ASSERT_EQ(four.size(), 400U);
  // 428,356,356,372 14,12,4,0 3.857073,5.746913,13.689572,17.682196 4.319922,...
  EXPECT_EQ(four.dim_sums[3], 372);
  EXPECT_EQ(four.start_offsets_ms[0], 14.0F);
  EXPECT_EQ(four.forward_ms[2], 13.689572F);
  EXPECT_EQ(four.backward_ms[0], 4.319922F);
}

TEST(CommSamples, PutsFoldersOfOneDeviceCountTogether) {
  const TemporaryFolder one;
  const TemporaryFolder two;
  one.write("data.txt", "8,4 0,2 3,1 2,2\n");
  two.write("data.txt", "4,4 0,0 1,1 1,1\n12,4 0,1 2,1 2,2");
  const auto sets = read_comm_samples(Folders{one / "", two / ""});
  ASSERT_EQ(sets.size(), 1U);
  EXPECT_THAT(sets[0].dim_sums, ::testing::ElementsAre(8, 4, 4, 4, 12, 4));
}

class BadCommLine : public ::testing::TestWithParam<BadLine> {};

TEST_P(BadCommLine, IsNamedWithFileAndLine) {
  const TemporaryFolder folder;
  folder.write("data.txt", std::string("8,4 0,2 3,1 2,2\n") + GetParam().line + "\n");
  EXPECT_THAT(message_of([&] { (void)read_comm_samples(Folders{folder / ""}); }),
              AllOf(HasSubstr("data.txt:2: "), HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(Lines, BadCommLine,
                         ::testing::Values(BadLine{"8,4 0,2 3,1", "3 groups"},
                                           BadLine{"8,4 0,2 3,1 2", "group 4 has 1 numbers"},
                                           BadLine{"8,4,4 0,2,1 3,1,1 2,2,2", "group 1 has 3"},
                                           BadLine{"8,4.5 0,2 3,1 2,2", "dim sum '4.5'"},
                                           BadLine{"8,-4 0,2 3,1 2,2", "dim sum -4"},
                                           BadLine{"8,4 0,-2 3,1 2,2", "start offset is '-2'"},
                                           BadLine{"8,4 0,2 nan,1 2,2", "forward cost is 'nan'"},
                                           BadLine{"8,4 0,2 3,1 2,-2", "backward cost is '-2'"}));

}  // namespace
}  // namespace neuroshard
