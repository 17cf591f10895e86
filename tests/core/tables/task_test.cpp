#include "neuroshard/task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/tables/stated_gib.h"
#include "message_of.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Task valid_task() {
  Task task;
  task.tables.resize(2);
  for (Table& table : task.tables) {
    table.rows = 1000;
    table.dim = 16;
    table.pooling_factor = 1.0;
    table.access_histogram[0] = 1.0;
  }
  task.devices = 2;
  task.memory_bytes = bytes_from_gib(4.0);
  return task;
}

std::string error_of(const Task& task) {
  return testing::message_of([&] { validate(task, "tasks/a.json"); });
}

TEST(Task, ValidTaskIsAccepted) {
  Task task = valid_task();
  EXPECT_NO_THROW(validate(task));
  task.tables[1].row_shares = {0.5, 0.25, 0.2501};
  EXPECT_NO_THROW(validate(task));
}

TEST(Task, ErrorsNameFileTableFieldAndRemedy) {
  Task task = valid_task();
  task.tables[1].dim = 30;
  EXPECT_EQ(error_of(task), "tasks/a.json: table 1: dim 30 is not a multiple of 4; use 28 or 32");
  task = valid_task();
  task.tables[1].name = "clicks";
  task.tables[1].rows = -5;
  EXPECT_THAT(error_of(task), AllOf(HasSubstr("table 1 ('clicks')"), HasSubstr("row is -5")));
}

TEST(Task, RejectsWhatCannotBeComputedWith) {
  const auto broken = [](auto change) {
    Task task = valid_task();
    change(task);
    return error_of(task);
  };
  EXPECT_THAT(broken([](Task& t) { t.devices = 0; }), HasSubstr("devices is 0"));
  EXPECT_THAT(broken([](Task& t) { t.devices = 16385; }), HasSubstr("devices is 16385"));
  EXPECT_THAT(broken([](Task& t) { t.memory_bytes = 0; }), HasSubstr("device memory"));
  EXPECT_THAT(broken([](Task& t) { t.tables.clear(); }), HasSubstr("no tables"));
  EXPECT_THAT(broken([](Task& t) { t.tables[0].rows = 0; }), HasSubstr("row is 0"));
  EXPECT_THAT(broken([](Task& t) { t.tables[0].rows = kMaxRows + 1; }), HasSubstr("row is"));
  EXPECT_THAT(broken([](Task& t) { t.tables[0].dim = 0; }), HasSubstr("dim is 0"));
  EXPECT_THAT(broken([](Task& t) { t.tables[0].dim = kMaxDim + 4; }), HasSubstr("dim is"));
  EXPECT_THAT(broken([](Task& t) { t.tables[0].pooling_factor = std::nan(""); }),
              HasSubstr("pooling_factor"));
  EXPECT_THAT(broken([](Task& t) { t.tables[0].access_histogram[3] = -0.1; }), HasSubstr("bin_3"));
  EXPECT_THAT(broken([](Task& t) {
                t.tables[0].access_histogram[16] = std::numeric_limits<double>::infinity();
              }),
              HasSubstr("bin_16"));
  EXPECT_EQ(broken([](Task& t) {
              t.tables[1].row_shares = {0.5, 0.25};
            }),
            "tasks/a.json: table 1: row_shares add up to 0.750000; they are shares of the table's "
            "lookups and must add up to 1");
  EXPECT_THAT(broken([](Task& t) {
                t.tables[1].row_shares = {1.5, -0.5};
              }),
              HasSubstr("table 1: row_shares: number 1 is -0.500000; give a finite number"));
  EXPECT_THAT(broken([](Task& t) { t.tables[0].row_shares.assign(1025, 1.0 / 1025); }),
              HasSubstr("row_shares has 1025 numbers; give at most 1024"));
}

TEST(Task, MemoryIsStatedAsItWasGiven) {
  for (const double gib : {1e-9, 0.01, 0.1, 0.7, 4.0, 79.65, 1.0 / 3, 8589934591.5}) {
    EXPECT_EQ(bytes_from_gib(stated_gib(bytes_from_gib(gib))), bytes_from_gib(gib)) << gib;
  }
  EXPECT_EQ(stated_gib(bytes_from_gib(0.01)), 0.01);
  EXPECT_EQ(stated_gib(bytes_from_gib(79.65)), 79.65);
  EXPECT_EQ(stated_gib(std::int64_t{4} << 30), 4.0);
  EXPECT_EQ(stated_gib(0), 0.0);
}

TEST(Task, MemoryIsInGib) {
  EXPECT_EQ(bytes_from_gib(1.0), std::int64_t{1} << 30);
  EXPECT_EQ(bytes_from_gib(0.5), std::int64_t{1} << 29);
  EXPECT_EQ(gib_from_bytes(std::int64_t{3} << 30), 3.0);
  EXPECT_THROW((void)bytes_from_gib(0.0), Error);
  EXPECT_THROW((void)bytes_from_gib(-1.0), Error);
  EXPECT_THROW((void)bytes_from_gib(std::nan("")), Error);
  EXPECT_THROW((void)bytes_from_gib(1e30), Error);
}

TEST(Task, SizeOfTheLargestTableDoesNotOverflow) {
  const Table table{
      .name = "", .rows = kMaxRows, .dim = kMaxDim, .pooling_factor = 0, .access_histogram = {}};
  EXPECT_EQ(table.size_bytes(), std::int64_t{1} << 58);
}

}  // namespace
}  // namespace neuroshard
