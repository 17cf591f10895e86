#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "message_of.h"
#include "neuroshard/weights.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "temporary_folder.h"
#include "weights/files/read_file.h"
#include "weights/files/safetensors.h"

namespace neuroshard {
namespace {

using testing::changes_at;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using testing::random_models;
using ::testing::StartsWith;

CostModels dense_and_symmetric() {
  CostModels models = random_models(1, {.devices = {2, 3, 16}});
  models.symmetric_comm = random_models(2).symmetric_comm;
  models.metadata = {{"source", "random"}, {"hardware", "none"}};
  return models;
}

/// The error for a good file after this change to its tensors or metadata.
std::string error_after(const std::function<void(Safetensors&)>& change) {
  Safetensors contents = parse_safetensors(serialize_weights(dense_and_symmetric()), "w");
  change(contents);
  const std::string bytes = serialize_safetensors(contents);
  return message_of([&] { (void)parse_weights(bytes, "w.safetensors"); });
}

TEST(WeightsFile, KeepsEveryModelAndItsMetadata) {
  const TemporaryFolder folder;
  const CostModels models = dense_and_symmetric();
  save_weights(models, folder / "w.safetensors");
  const CostModels read = load_weights(folder / "w.safetensors");
  EXPECT_EQ(read.metadata, models.metadata);
  EXPECT_EQ(read.dense_comm.size(), 3U);
  EXPECT_TRUE(read.symmetric_comm.has_value());
  EXPECT_EQ(read.compute.head.layers[1].weight, models.compute.head.layers[1].weight);
  EXPECT_EQ(read.compute.features.std, models.compute.features.std);
  const auto& backward = std::get<DenseCommNetwork>(read.dense_comm.at(3).backward);
  EXPECT_EQ(backward.network.inputs(), 3);
  // The rest: equal models give equal bytes.
  EXPECT_EQ(serialize_weights(read), serialize_weights(models));
  EXPECT_EQ(read_file(folder / "w.safetensors"), serialize_weights(models));
}

TEST(WeightsFile, NamesTensorsAsDocumented) {
  const Safetensors contents = parse_safetensors(serialize_weights(dense_and_symmetric()), "w");
  for (const char* name :
       {"compute.features.mean", "compute.features.std", "compute.table_network.0.weight",
        "compute.head.1.bias", "comm.3.forward.features.mean", "comm.3.forward.0.weight",
        "comm.16.backward.2.bias", "comm.symmetric.forward.0.weight",
        "comm.symmetric.backward.features.std"}) {
    EXPECT_TRUE(contents.tensors.contains(name)) << name;
  }
  EXPECT_EQ(contents.metadata.at("format"), "neuroshard.weights");
  EXPECT_EQ(contents.metadata.at("version"), "1");
  EXPECT_THAT(contents.metadata.at("table_features"), StartsWith("bin_0,bin_1,bin_10,"));
}

CostModels of_any_batch() {
  CostModels models = dense_and_symmetric();
  Mlp& network = models.compute.table_network;
  DenseLayer& first = network.layers.front();
  first.inputs = kOperatorFeatures;
  first.weight.assign(static_cast<std::size_t>(first.inputs * first.outputs), 0.25F);
  models.compute.features.mean.assign(kOperatorFeatures, 0.0F);
  models.compute.features.std.assign(kOperatorFeatures, 2.0F);
  models.all_reduce = CollectiveModel{.lines = {{1, {0.5, 2.0}}, {64, {0.25, 8.0}}}};
  models.ids = CollectiveModel{.lines = {{2, {1.5, 4.0}}}};
  return models;
}

TEST(WeightsFile, ModelsOfAnyBatchAreOfVersion2) {
  const CostModels models = of_any_batch();
  const std::string bytes = serialize_weights(models);
  EXPECT_EQ(parse_safetensors(bytes, "w").metadata.at("version"), "2");
  const CostModels read = parse_weights(bytes, "w");
  EXPECT_TRUE(read.compute.any_batch());
  ASSERT_TRUE(read.all_reduce);
  EXPECT_EQ(read.all_reduce->lines.at(64).latency_ms, 0.25);
  EXPECT_EQ(read.all_reduce->lines.at(64).ms_per_gib, 8.0);
  EXPECT_EQ(read.all_reduce->lines.size(), 2U);
  ASSERT_TRUE(read.ids);
  EXPECT_EQ(read.ids->lines.at(2).latency_ms, 1.5);
  EXPECT_EQ(serialize_weights(read), bytes);
}

TEST(WeightsFile, AllReducesAloneAreOfVersion2) {
  CostModels models = dense_and_symmetric();
  models.all_reduce = CollectiveModel{.lines = {{8, {0.5, 2.0}}}};
  const CostModels read = parse_weights(serialize_weights(models), "w");
  EXPECT_FALSE(read.compute.any_batch());
  EXPECT_TRUE(read.all_reduce);
}

TEST(WeightsFile, PricesOfKindsAreOfVersion2) {
  CostModels models = dense_and_symmetric();
  models.kind_prices = {{ShardingKind::kRow, {{0.5, 1.0, 2.0, 4.0, 8.0}}},
                        {ShardingKind::kReplicate, {{0.0, 0.25, 0.0, 0.0, 0.0}}}};
  const std::string bytes = serialize_weights(models);
  EXPECT_EQ(parse_safetensors(bytes, "w").metadata.at("version"), "2");
  const CostModels read = parse_weights(bytes, "w");
  ASSERT_EQ(read.kind_prices.size(), 2U);
  for (const auto& [kind, price] : models.kind_prices) {
    EXPECT_EQ(read.kind_prices.at(kind).ms, price.ms);
  }
  EXPECT_EQ(serialize_weights(read), bytes);
}

TEST(WeightsFile, RejectsWrongPricesOfKinds) {
  const std::string bytes = serialize_weights(of_any_batch());
  const auto error = [&](const std::string& name, const Tensor& numbers) {
    Safetensors file = parse_safetensors(bytes, "w");
    file.tensors[name] = numbers;
    return message_of([&] { (void)parse_weights(serialize_safetensors(file), "w"); });
  };
  const Tensor five{{5}, {1.0F, 1.0F, 1.0F, 1.0F, 1.0F}};
  EXPECT_THAT(error("kind_price.row", {{2}, {1.0F, 1.0F}}),
              HasSubstr("w: tensor 'kind_price.row': has the shape [2]; expected 5 numbers"));
  EXPECT_THAT(error("kind_price.row", {{5}, {1.0F, 1.0F, -1.0F, 1.0F, 1.0F}}),
              HasSubstr("price of kind 'row': one of its numbers is -1"));
  EXPECT_THAT(error("kind_price.grid", five), HasSubstr("'grid': only row, table_row"));
  EXPECT_THAT(error("kind_price.rows", five), HasSubstr("unknown tensor 'kind_price.rows'"));
}

TEST(WeightsFile, RejectsWrongLinesAndFeatures) {
  const std::string bytes = serialize_weights(of_any_batch());
  const auto error = [&](const auto& change) {
    Safetensors file = parse_safetensors(bytes, "w");
    change(file);
    return message_of([&] { (void)parse_weights(serialize_safetensors(file), "w"); });
  };
  const auto with_lines = [&](const Tensor& lines) {
    return error([&](Safetensors& file) { file.tensors["all_reduce.lines"] = lines; });
  };
  EXPECT_THAT(with_lines({{1, 2}, {8.0F, 1.0F}}), HasSubstr("[1, 2]; expected 3 columns"));
  EXPECT_THAT(with_lines({{1, 3}, {1.5F, 1.0F, 1.0F}}), HasSubstr("a line for 1.5"));
  EXPECT_THAT(with_lines({{1, 3}, {2000.0F, 1.0F, 1.0F}}), HasSubstr("a line for 2000"));
  EXPECT_THAT(with_lines({{1, 3}, {8.0F, -1.0F, 1.0F}}), HasSubstr("all-reduce model, line for 8"));
  const auto published = parse_safetensors(serialize_weights(dense_and_symmetric()), "w");
  EXPECT_THAT(error([&](Safetensors& file) {
                file.metadata["table_features"] = published.metadata.at("table_features");
              }),
              HasSubstr("takes 43 inputs, which the metadata's 'table_features' are not"));
  EXPECT_THAT(error([](Safetensors& file) { file.metadata["version"] = "1"; }),
              HasSubstr("'table_features' is 'time_us"));
}

TEST(WeightsFile, RejectsMissingAndUnknownTensors) {
  const auto without = [](const std::string& name) {
    return error_after([&](Safetensors& file) { ASSERT_EQ(file.tensors.erase(name), 1U); });
  };
  EXPECT_EQ(without("compute.features.mean"),
            "w.safetensors: the tensor 'compute.features.mean' is missing");
  EXPECT_THAT(without("compute.head.1.bias"), HasSubstr("'compute.head.1.bias' is missing"));
  EXPECT_THAT(without("compute.head.1.weight"), HasSubstr("unknown tensor 'compute.head.1.bias'"));
  EXPECT_THAT(without("comm.3.backward.0.weight"), HasSubstr("'comm.3.backward.0.weight' is"));
  EXPECT_THAT(without("comm.symmetric.forward.features.std"), HasSubstr("std' is missing"));
  const auto with = [](const std::string& name) {
    return error_after([&](Safetensors& file) { file.tensors[name] = {{1}, {1.0F}}; });
  };
  EXPECT_THAT(with("extra"), HasSubstr("w.safetensors: unknown tensor 'extra'"));
  EXPECT_THAT(with("compute.head.7.bias"), HasSubstr("unknown tensor 'compute.head.7.bias'"));
  for (const char* key : {"03", "+3", "0", "1025", "-1", "99999999999", "x", ""}) {
    EXPECT_THAT(with("comm." + std::string(key) + ".forward.0.weight"),
                HasSubstr("'" + std::string(key) + "' is neither a number of devices"));
  }
}

TEST(WeightsFile, RejectsWhatDoesNotFitTogether) {
  EXPECT_THAT(error_after([](Safetensors& file) {
                file.tensors["compute.head.0.weight"] = {{64, 3}, std::vector<float>(192)};
              }),
              HasSubstr("head: layer 0: takes 3 inputs, but 32 arrive"));
  EXPECT_THAT(error_after([](Safetensors& file) {
                file.tensors["comm.3.forward.0.bias"] = {{2}, {1.0F, 1.0F}};
              }),
              HasSubstr("'comm.3.forward.0.bias': has 2 values for the 32 outputs"));
  EXPECT_THAT(error_after([](Safetensors& file) {
                file.tensors["compute.features.std"] = {{20, 1}, std::vector<float>(20, 1.0F)};
              }),
              HasSubstr("'compute.features.std': has the shape [20, 1]; expected 1 dimension"));
  EXPECT_THAT(error_after([](Safetensors& file) {
                file.tensors["comm.2.backward.1.weight"].values[3] = INFINITY;
              }),
              HasSubstr("communication model for 2 devices, backward: layer 1: a weight is NaN"));
  EXPECT_THAT(error_after([](Safetensors& file) {
                file.tensors["comm.symmetric.forward.features.std"].values[0] = -1.0F;
              }),
              HasSubstr("symmetric communication model, forward: a feature standard deviation"));
}

TEST(WeightsFile, RejectsOtherFormatsAndVersions) {
  const auto with = [](const std::string& key, const std::string& value) {
    return error_after([&](Safetensors& file) { file.metadata[key] = value; });
  };
  EXPECT_EQ(with("version", "3"),
            "w.safetensors: the metadata's 'version' is '3'; this program reads '1' and '2'");
  EXPECT_THAT(with("cost_unit", "us"), HasSubstr("'cost_unit' is 'us'; this program reads 'ms'"));
  EXPECT_THAT(with("table_features", "row,dim"), HasSubstr("'table_features' is 'row,dim'"));
  EXPECT_THAT(error_after([](Safetensors& file) { file.metadata.erase("format"); }),
              HasSubstr("the metadata lack 'format'"));
}

TEST(WeightsFile, IsNotWrittenIfTheModelsAreNotSound) {
  const TemporaryFolder folder;
  CostModels models = dense_and_symmetric();
  models.compute.head.layers[0].bias[0] = NAN;
  EXPECT_THAT(message_of([&] { save_weights(models, folder / "w"); }),
              HasSubstr("weights: compute model, head: layer 0: a weight is NaN"));
  models = dense_and_symmetric();
  models.metadata["format"] = "mine";
  EXPECT_THAT(message_of([&] { save_weights(models, folder / "w"); }),
              HasSubstr("the metadata key 'format' belongs to the file format; rename it"));
  models.metadata = {{"source", "\xff"}};
  EXPECT_THAT(message_of([&] { save_weights(models, folder / "w"); }),
              HasSubstr("not valid UTF-8"));
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(WeightsFile, SaysWhichFileCannotBeReadOrWritten) {
  const TemporaryFolder folder;
  EXPECT_EQ(message_of([] { (void)load_weights("none.safetensors"); }, ErrorKind::kIo),
            "none.safetensors: cannot be read: No such file or directory");
  EXPECT_THAT(
      message_of([&] { save_weights(dense_and_symmetric(), folder / "no/w"); }, ErrorKind::kIo),
      HasSubstr("w: cannot be written: No such file or directory"));
}

TEST(WeightsFile, SurvivesTruncationAndChangedBytes) {
  constexpr std::array kFlips = {0x01U, 0x10U, 0x80U, 0xffU};
  const CostModels models =
      random_models(3, {.table_network = {2}, .head = {1}, .comm = {2}, .devices = {2}});
  const std::string good = serialize_weights(models);
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_THAT(message_of([&] {
                  (void)parse_weights(std::string_view(good).substr(0, length), "w.safetensors");
                }),
                StartsWith("w.safetensors: "));
  }
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const unsigned flip : changes_at(i, kFlips)) {
      std::string bad = good;
      bad[i] = static_cast<char>(static_cast<unsigned char>(bad[i]) ^ flip);
      try {
        (void)parse_weights(bad, "w.safetensors");
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), StartsWith("w.safetensors: "));
      }
    }
  }
}

}  // namespace
}  // namespace neuroshard
