#include "weights/collection/sample_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <limits>

#include "neuroshard/error.h"
#include "temporary_folder.h"

namespace neuroshard {
namespace {

TEST(SampleLog, AppendsWholeLines) {
  const TemporaryFolder folder;
  {
    SampleLog log(folder / "data.txt");
    EXPECT_EQ(log.size(), 0u);
    log.append("1,2 3.5");
    log.append("4 5");
  }
  SampleLog log(folder / "data.txt");
  EXPECT_EQ(log.size(), 2u);
  EXPECT_EQ(log.removed_bytes(), 0u);
  log.append("6 7");
  EXPECT_EQ(contents_of(folder / "data.txt"), "1,2 3.5\n4 5\n6 7\n");
}

TEST(SampleLog, RemovesATornLastLine) {
  const TemporaryFolder folder;
  folder.write("data.txt", "1,2 3.5\n4 5\n6,7,8 0.1");
  {
    SampleLog log(folder / "data.txt");
    EXPECT_EQ(log.size(), 2u);
    EXPECT_EQ(log.removed_bytes(), 9u);
    log.append("9 1");
  }
  EXPECT_EQ(contents_of(folder / "data.txt"), "1,2 3.5\n4 5\n9 1\n");
  folder.write("torn_only.txt", "6,7,8 0.1");
  EXPECT_EQ(SampleLog(folder / "torn_only.txt").size(), 0u);
  EXPECT_EQ(contents_of(folder / "torn_only.txt"), "");
}

TEST(SampleLog, RefusesASecondWriter) {
  const TemporaryFolder folder;
  SampleLog log(folder / "data.txt");
  EXPECT_THROW(SampleLog(folder / "data.txt"), Error);
}

TEST(SampleLog, NamesAFileThatCannotBeOpened) {
  try {
    SampleLog log("/nonexistent/data.txt");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kIo);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("/nonexistent/data.txt"));
  }
}

TEST(SampleLog, RefusesWhatIsNotAFile) { EXPECT_THROW(SampleLog("/dev/null"), Error); }

// Files may not grow beyond a few bytes while one lives.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(SampleLog, LeavesNoPartOfALineOnAFullDisk) {
  const TemporaryFolder folder;
  SampleLog log(folder / "data.txt");
  log.append("1,2 3");
  {
    const FullDisk full(10);
    EXPECT_THROW(log.append("4,5,6,7 8"), Error);
  }
  EXPECT_EQ(contents_of(folder / "data.txt"), "1,2 3\n");
  log.append("4 5");
  EXPECT_EQ(contents_of(folder / "data.txt"), "1,2 3\n4 5\n");
}

TEST(SampleLines, AreInThePublishedFormat) {
  EXPECT_EQ(compute_sample_line(std::vector<int>{7, 0, 5135}, 12.25), "7,0,5135 12.25");
  EXPECT_EQ(compute_sample_line(std::vector<int>{3}, 1.0 / 3.0), "3 0.333333333");
  EXPECT_EQ(comm_sample_line(std::vector<std::int64_t>{428, 356}, std::vector<double>{14.0, 0.0},
                             std::vector<double>{3.5, 17.5}, std::vector<double>{4.25, 4.5}),
            "428,356 14,0 3.5,17.5 4.25,4.5");
}

TEST(SampleLines, RefuseCostsThatCannotBe) {
  const std::vector<int> ids{1};
  for (const double cost : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW((void)compute_sample_line(ids, cost), Error);
    const std::vector<double> costs{cost};
    const std::vector<double> good{1.0};
    const std::vector<std::int64_t> dims{4};
    EXPECT_THROW((void)comm_sample_line(dims, good, costs, good), Error);
    EXPECT_THROW((void)comm_sample_line(dims, good, good, costs), Error);
  }
}

}  // namespace
}  // namespace neuroshard
