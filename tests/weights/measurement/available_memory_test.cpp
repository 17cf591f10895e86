#include "weights/measurement/available_memory.h"

#include <gtest/gtest.h>

#include <limits>

#include "temporary_folder.h"

namespace neuroshard {
namespace {

class AvailableMemory : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder_ / path).parent_path());
    folder_.write(path, text);
  }
  void version_2(const std::string& top, const std::string& group) {
    write("proc/self/mountinfo", "24 1 0:22 / /proc rw - proc proc rw\n32 23 0:27 " + top +
                                     " /groups rw,nosuid shared:9 - cgroup2 cgroup2 rw\n");
    write("proc/self/cgroup", "0::" + group + "\n");
  }
  std::int64_t available() { return available_memory(folder_ / ""); }

  TemporaryFolder folder_;
};

TEST_F(AvailableMemory, IsPositiveHere) { EXPECT_GT(available_memory(), 0); }

TEST_F(AvailableMemory, IsWhatTheKernelSaysWhereNothingLimits) {
  EXPECT_EQ(available(), std::numeric_limits<std::int64_t>::max());
  write("proc/meminfo", "MemTotal:  900 kB\nMemFree: 100 kB\nMemAvailable:   500 kB\n");
  EXPECT_EQ(available(), 500 * 1024);
  version_2("/", "/jobs/7");
  write("groups/jobs/7/memory.max", "max\n");
  EXPECT_EQ(available(), 500 * 1024);
}

TEST_F(AvailableMemory, IsTheRoomOfTheProcessesOwnGroupAndOfThoseAround) {
  write("proc/meminfo", "MemAvailable: 500000 kB\n");
  version_2("/", "/jobs/7/step");
  write("groups/jobs/7/step/memory.max", "max\n");
  write("groups/jobs/7/memory.max", "10000\n");
  write("groups/jobs/7/memory.current", "7000\n");
  write("groups/jobs/7/memory.stat", "anon 4000\ninactive_file 1500\n");
  EXPECT_EQ(available(), 4500);
  write("groups/jobs/memory.max", "20000\n");
  write("groups/jobs/memory.current", "18000\n");
  EXPECT_EQ(available(), 2000);
  write("groups/jobs/7/step/memory.max", "300\n");
  write("groups/jobs/7/step/memory.current", "400\n");
  EXPECT_EQ(available(), 0);
}

TEST_F(AvailableMemory, GroupsOfAContainerBeginAtItsOwn) {
  // The path is as the host has it, and the mount shows its end.
  version_2("/docker/ab", "/docker/ab/task");
  write("groups/memory.max", "5000\n");
  EXPECT_EQ(available(), 5000);
  write("groups/task/memory.max", "4000\n");
  EXPECT_EQ(available(), 4000);
  // A group that the mount does not show.
  version_2("/", "/../../elsewhere");
  EXPECT_EQ(available(), 5000);
}

TEST_F(AvailableMemory, ReadsTheFirstVersionOfGroups) {
  write("proc/self/mountinfo",
        "34 31 0:30 / /groups/cpu rw - cgroup cgroup rw,cpu\n"
        "35 31 0:32 / /groups/memory rw,relatime - cgroup cgroup rw,memory\n");
  write("proc/self/cgroup", "9:name=systemd:/\n4:memory:/api/8352\n3:cpu:/other\n0::/\n");
  write("groups/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("groups/memory/api/8352/memory.limit_in_bytes", "8000\n");
  write("groups/memory/api/8352/memory.usage_in_bytes", "6000\n");
  write("groups/memory/api/8352/memory.stat", "total_inactive_file 500\n");
  EXPECT_EQ(available(), 2500);
}

}  // namespace
}  // namespace neuroshard
