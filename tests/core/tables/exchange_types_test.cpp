#include "neuroshard/exchange_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/tables/exchange_fields.h"
#include "message_of.h"
#include "neuroshard/comm_setting.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

TEST(ExchangeTypes, SayHowManyBytesAColumnAndALookupAre) {
  const ExchangeTypes usual;
  EXPECT_EQ(usual.forward_column_bytes(), 4.0);
  EXPECT_EQ(usual.backward_column_bytes(), 4.0);
  EXPECT_EQ(usual.columns_of_lookup(), 2.0);
  const ExchangeTypes narrow{WireType::kFp8, WireType::kBf16, WireType::kInt32, 0.5, 0.25};
  EXPECT_EQ(narrow.forward_column_bytes(), 0.5);
  EXPECT_EQ(narrow.backward_column_bytes(), 0.5);
  EXPECT_EQ(narrow.columns_of_lookup(), 8.0);
}

TEST(ExchangeTypes, AreShownWhereTheyAreNotAsByDefault) {
  EXPECT_EQ(exchange_text({}), "");
  EXPECT_EQ(exchange_text({.forward = WireType::kFp16, .ids = WireType::kInt32}),
            "forward fp16, ids int32");
  EXPECT_EQ(exchange_text({.backward = WireType::kFp8, .backward_share = 0.05}),
            "backward fp8, backward_share 0.05");
}

TEST(ExchangeTypes, HaveTypesAndSharesThatCanBe) {
  EXPECT_FALSE(exchange_problem_of({}));
  EXPECT_FALSE(exchange_problem_of({.forward_share = 0.001, .backward_share = 0.001}));
  EXPECT_EQ(exchange_problem_of({.forward = WireType::kInt32}),
            "forward is int32; use one of fp32, fp16, bf16, fp8");
  EXPECT_EQ(exchange_problem_of({.ids = WireType::kFp16}), "ids is fp16; use one of int64, int32");
  EXPECT_EQ(exchange_problem_of({.backward = static_cast<WireType>(77)}),
            "backward is unknown; use one of fp32, fp16, bf16, fp8");
  for (const double share : {0.0, 0.0009, 1.001, -1.0, 0.0 / 0.0}) {
    EXPECT_THAT(*exchange_problem_of({.backward_share = share}),
                HasSubstr("; give the share of the bytes that are sent, 0.001 to 1"));
  }
  Table table{.rows = 10, .dim = 4};
  table.access_histogram[0] = 1.0;
  Task task{.tables = {table}, .devices = 1, .memory_bytes = 1000};
  EXPECT_NO_THROW(validate(task, "a.json"));
  task.exchange.forward_share = 2.0;
  EXPECT_EQ(message_of([&] { validate(task, "a.json"); }),
            "a.json: exchange: forward_share is 2; give the share of the bytes that are sent, "
            "0.001 to 1");
}

TEST(ExchangeTypes, ArePartOfTheSettingThatModelsAreFor) {
  Task task{.tables = {}, .devices = 16};
  EXPECT_EQ(comm_setting(task), CommSetting{});
  task.exchange.ids = WireType::kInt32;
  EXPECT_EQ(comm_setting(task).exchange, task.exchange);
  EXPECT_EQ(comm_setting(task).devices, 16);
  EXPECT_EQ(comm_setting(task).devices_per_node, 0);
  EXPECT_EQ(comm_setting(without_tables(task)), comm_setting(task));
}

}  // namespace
}  // namespace neuroshard
