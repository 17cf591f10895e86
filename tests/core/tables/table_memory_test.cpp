#include "neuroshard/table_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "message_of.h"
#include "neuroshard/prediction_limits.h"
#include "neuroshard/task.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

Table table_of(WeightType type, Optimizer optimizer) {
  Table table{.name = "t", .rows = 1000, .dim = 64, .pooling_factor = 2.5};
  table.access_histogram[0] = 1.0;
  table.memory = {.weight_type = type, .optimizer = optimizer};
  return table;
}

TEST(TableMemory, IsFp32WithoutStateAndBuffersByDefault) {
  const Table table = table_of({}, {});
  EXPECT_EQ(table.memory, TableMemory{});
  EXPECT_EQ(slice_memory(table, 16), (SliceMemory{1000 * 16 * 4, 0, 0}));
  EXPECT_EQ(table.size_bytes(), 1000 * 64 * 4);
}

// By hand: 1,000 rows, 16 columns.
TEST(TableMemory, WeightsAreAsWideAsTheirType) {
  const auto bytes = [](WeightType type) {
    return slice_memory(table_of(type, Optimizer::kSgd), 16).weight_bytes;
  };
  EXPECT_EQ(bytes(WeightType::kFp32), 64'000);
  EXPECT_EQ(bytes(WeightType::kFp16), 32'000);
  EXPECT_EQ(bytes(WeightType::kBf16), 32'000);
  EXPECT_EQ(bytes(WeightType::kInt8), 16'000 + 8'000);  // Scale and bias of each row.
}

TEST(TableMemory, StateIsFp32WhateverTheWeights) {
  for (const WeightType type : all_weight_types()) {
    const auto bytes = [&](Optimizer optimizer) {
      return slice_memory(table_of(type, optimizer), 16).optimizer_bytes;
    };
    EXPECT_EQ(bytes(Optimizer::kSgd), 0);
    EXPECT_EQ(bytes(Optimizer::kRowwiseAdagrad), 4'000);
    EXPECT_EQ(bytes(Optimizer::kAdagrad), 64'000);
    EXPECT_EQ(bytes(Optimizer::kAdam), 128'000);
    EXPECT_EQ(bytes(Optimizer::kPartialRowwiseAdam), 64'000 + 4'000);
    EXPECT_EQ(bytes(Optimizer::kLamb), 128'000);
    EXPECT_EQ(bytes(Optimizer::kPartialRowwiseLamb), 64'000 + 4'000);
    EXPECT_EQ(bytes(Optimizer::kLarsSgd), 64'000);
  }
}

TEST(TableMemory, BuffersHoldTheIdsOfAllAndTheOutputsOfSamplesWithLookups) {
  Table table = table_of({}, {});
  table.memory.batch_size = 100;
  // 250 ids of 8 bytes; 100 outputs of 16 fp32 columns.
  EXPECT_EQ(slice_memory(table, 16).buffer_bytes, 250 * 8 + 100 * 16 * 4);
  table.pooling_factor = 0.255;  // 25.5 ids, and samples with one: 26.
  EXPECT_EQ(slice_memory(table, 16).buffer_bytes, 204 + 26 * 16 * 4);
  table.pooling_factor = 0.0;
  EXPECT_EQ(slice_memory(table, 16).buffer_bytes, 0);
  table.memory.weight_type = WeightType::kInt8;  // Outputs stay fp32.
  table.pooling_factor = 1.0;
  EXPECT_EQ(slice_memory(table, 16).buffer_bytes, 100 * 8 + 100 * 16 * 4);
  table.features = 3.0;  // No more outputs than lookups.
  EXPECT_EQ(slice_memory(table, 16).buffer_bytes, 100 * 8 + 100 * 16 * 4);
  table.pooling_factor = 7.0;
  EXPECT_EQ(slice_memory(table, 16).buffer_bytes, 700 * 8 + 300 * 16 * 4);
}

TEST(TableMemory, SlicesAddUpToTheTableAndWhatEachHasOfItsOwn) {
  for (const WeightType type : all_weight_types()) {
    for (const Optimizer optimizer : all_optimizers()) {
      for (const std::int64_t batch : {0, 1000}) {
        SCOPED_TRACE(std::string(name_of(type)) + " " + std::string(name_of(optimizer)));
        Table table = table_of(type, optimizer);
        table.memory.batch_size = batch;
        table.pooling_factor = 0.3;
        const std::int64_t own =
            table.rows * stored_bytes(table.memory).per_row + (batch == 0 ? 0 : 300 * 8);
        EXPECT_EQ(4 * slice_bytes(table, 16), table.size_bytes() + 3 * own);
        EXPECT_EQ(slice_bytes(table, 32) + slice_bytes(table, 28) + slice_bytes(table, 4),
                  table.size_bytes() + 2 * own);
        EXPECT_GE(2 * slice_bytes(table, 32), table.size_bytes());
        EXPECT_LT(slice_bytes(table, 32), table.size_bytes());
      }
    }
  }
}

TEST(TableMemory, NamesAreReadBackAndNearMissesRecognised) {
  for (const WeightType type : all_weight_types()) {
    EXPECT_EQ(weight_type_from_name(name_of(type)), type);
  }
  for (const Optimizer optimizer : all_optimizers()) {
    EXPECT_EQ(optimizer_from_name(name_of(optimizer)), optimizer);
  }
  EXPECT_EQ(
      message_of([] { (void)weight_type_from_name("fp61"); }),
      "there is no weight type 'fp61'; did you mean 'fp16'? use one of fp32, fp16, bf16, int8");
  EXPECT_THAT(message_of([] { (void)optimizer_from_name("row_wise_adagrad"); }),
              HasSubstr("did you mean 'rowwise_adagrad'?"));
  EXPECT_THAT(message_of([] { (void)optimizer_from_name("none"); }), HasSubstr("use one of sgd, "));
}

Task task_of(std::int64_t memory_bytes, const ReservedMemory& reserved) {
  return {.tables = {table_of({}, {})},
          .devices = 2,
          .memory_bytes = memory_bytes,
          .reserved = reserved};
}

TEST(ReservedMemory, BytesAndShareAddUp) {
  EXPECT_EQ(room_bytes(task_of(1001, {}), 1), 1001);
  EXPECT_EQ(reserved_bytes(task_of(1001, {.bytes = 1}), 1), 1);
  EXPECT_EQ(room_bytes(task_of(1001, {.share = 0.25}), 1), 750);  // Rounded down.
  EXPECT_EQ(reserved_bytes(task_of(1001, {.share = 0.25}), 1), 251);
  EXPECT_EQ(room_bytes(task_of(1001, {.bytes = 50, .share = 0.25}), 1), 700);
}

TEST(ReservedMemory, MustLeaveSome) {
  const auto error = [](std::int64_t memory_bytes, const ReservedMemory& reserved) {
    return message_of([&] { validate(task_of(memory_bytes, reserved), "a.json"); });
  };
  EXPECT_NO_THROW(validate(task_of(1 << 20, {.bytes = 1000, .share = 0.5})));
  EXPECT_EQ(error(1 << 20, {.bytes = 1 << 20}),
            "a.json: all memory of a device, 1.00 MiB, is reserved; reserve less, or give more "
            "memory");
  EXPECT_THAT(error(1 << 20, {.bytes = 1 << 19, .share = 0.5}), HasSubstr("is reserved"));
  EXPECT_THAT(error(1 << 20, {.bytes = std::int64_t{1} << 62, .share = 0.9}),
              HasSubstr("is reserved"));
  EXPECT_THAT(error(1 << 20, {.bytes = -1}),
              HasSubstr("reserved memory is -1 bytes; give a number"));
  EXPECT_THAT(error(1 << 20, {.share = 1.0}), HasSubstr("at least 0 and less than 1"));
  EXPECT_THAT(error(1 << 20, {.share = -0.1}),
              HasSubstr("the reserved share of memory (reserved_share) is -0.1;"));
  EXPECT_THAT(error(1 << 20, {.share = std::numeric_limits<double>::quiet_NaN()}),
              HasSubstr("(reserved_share) is "));
}

TEST(TableMemory, SumsStayWithin64BitsHoweverTablesAreCut) {
  Task task = task_of(std::int64_t{1} << 62, {});
  Table& table = task.tables[0];
  table.dim = kMaxDim;
  table.pooling_factor = 1e6;
  table.memory.batch_size = kMaxBatchSize;
  // The table is below the limit, 16,384 copies of its ids are not.
  EXPECT_EQ(message_of([&] { validate(task, "a.json"); }),
            "a.json: table 0 ('t'): the tables up to here exceed 2^60 bytes; check row and "
            "batch_size");
  table.pooling_factor = 1e300;
  EXPECT_THAT(message_of([&] { validate(task, ""); }), HasSubstr("exceed 2^60 bytes"));
  table.pooling_factor = 1.0;
  table.memory.batch_size = -1;
  EXPECT_EQ(message_of([&] { validate(task, "a.json"); }),
            "a.json: table 0 ('t'): batch_size is -1; give a number between 0 and 2^40");
}

TEST(PredictionLimits, AreSaidOfWhatMemoryKnowsAndCostsDoNot) {
  Task task = task_of(1 << 20, {});
  EXPECT_EQ(prediction_limits(task, false), "");
  task.tables[0].memory.batch_size = kDefaultBatchSize;
  EXPECT_EQ(prediction_limits(task, false), "");
  task.tables.resize(4, task.tables[0]);
  task.tables[2].memory.weight_type = WeightType::kInt8;
  EXPECT_EQ(prediction_limits(task, false),
            "table 2 ('t') is int8: memory counts that, predicted costs of operators are those of "
            "fp32");
  EXPECT_EQ(prediction_limits(task, true), "");
  task.tables[3].memory.weight_type = WeightType::kFp16;
  task.tables[1].memory.batch_size = 512;
  EXPECT_EQ(
      prediction_limits(task, false),
      "table 2 ('t') is int8, and 1 other table not fp32: memory counts that, predicted costs of "
      "operators are those of fp32; memory is of batches of 512 samples, predicted costs of "
      "65,536");
  EXPECT_EQ(prediction_limits(task, true),
            "memory is of batches of 512 samples, predicted costs of 65,536");
  task.tables[1].memory.batch_size = kDefaultBatchSize;
  for (Table& table : task.tables) table.memory.weight_type = WeightType::kFp32;
  task.tables[2].features = 2.5;
  EXPECT_EQ(prediction_limits(task, false),
            "table 2 ('t') has features 2.5: memory and exchanges count them, predicted costs of "
            "operators are those of one feature");
  task.tables[2].features = 1.0;
  task.tables[0].memory.optimizer = Optimizer::kAdam;
  EXPECT_EQ(prediction_limits(task, false),
            "table 0 ('t') is updated by adam: memory counts its state, predicted costs of updates "
            "are those of sgd");
  EXPECT_EQ(prediction_limits(task, true), "");
  task.tables[0].memory.optimizer = Optimizer::kSgd;
  task.tables[2].features = 2.5;
  task.tables[3].features = 2.0;
  EXPECT_THAT(prediction_limits(task, false), HasSubstr("2.5, and so have 1 other table: memory"));
  EXPECT_EQ(prediction_limits(task, true), "");
}

}  // namespace
}  // namespace neuroshard
