#include "neuroshard/overlap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/tables/overlap_fields.h"
#include "message_of.h"
#include "neuroshard/task.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

TEST(Overlap, IsShownWhereItIsNotAsByDefault) {
  EXPECT_EQ(overlap_text({}), "");
  EXPECT_EQ(overlap_text({.ids = true}), "ids");
  EXPECT_EQ(overlap_text({.ids = true, .dense_ms = 3.0, .host_ms = 7.5}),
            "ids, dense_ms 3, host_ms 7.5");
}

TEST(Overlap, HasTimesThatCanBe) {
  EXPECT_FALSE(overlap_problem_of({}));
  EXPECT_FALSE(overlap_problem_of({.dense_ms = 1e6, .host_ms = 1e6}));
  for (const double ms : {-0.001, 1e7, 0.0 / 0.0, 1.0 / 0.0}) {
    for (const auto& [name, field] : kOverlapTimeFields) {
      Overlap overlap;
      overlap.*field = ms;
      EXPECT_THAT(overlap_problem_of(overlap).value_or(""), HasSubstr(std::string(name) + " is "));
      EXPECT_THAT(overlap_problem_of(overlap).value_or(""),
                  HasSubstr("; give milliseconds of an iteration, 0 to 1e6, or leave it out"));
    }
  }
  Table table{.rows = 10, .dim = 4};
  table.access_histogram[0] = 1.0;
  Task task{.tables = {table}, .devices = 1, .memory_bytes = 1000};
  task.overlap.host_ms = 7.0;
  EXPECT_NO_THROW(validate(task, "a.json"));
  EXPECT_EQ(without_tables(task).overlap, task.overlap);
  task.overlap.host_ms = -7.0;
  EXPECT_EQ(message_of([&] { validate(task, "a.json"); }),
            "a.json: overlap: host_ms is -7; give milliseconds of an iteration, 0 to 1e6, or leave "
            "it out");
}

}  // namespace
}  // namespace neuroshard
