#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "message_of.h"
#include "neuroshard/weights.h"
#include "random_tasks.h"
#include "weights/files/read_file.h"
#include "weights/files/torch_writer.h"

namespace neuroshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::make_compute_checkpoint;
using testing::make_zip;
using testing::message_of;
using testing::Packing;
using testing::TorchStyle;
using testing::ZipEntry;

const std::filesystem::path kModels = std::filesystem::path(NEUROSHARD_TEST_DATA) / "golden/models";

std::vector<int> widths(const Mlp& mlp) {
  std::vector<int> sizes{mlp.inputs()};
  for (const DenseLayer& layer : mlp.layers) sizes.push_back(layer.outputs);
  return sizes;
}

/// Equal models give equal files.
std::string fingerprint(const ComputeModel& compute) {
  CostModels models;
  models.compute = compute;
  return serialize_weights(models);
}

TEST(Checkpoint, ReadsTheComputeModel) {
  const ComputeModel compute = load_compute_checkpoint(kModels / "compute.pt");
  EXPECT_THAT(widths(compute.table_network), ElementsAre(20, 128, 32));
  EXPECT_THAT(widths(compute.head), ElementsAre(32, 64, 1));
  // Numbers as Python reads them from the file.
  const DenseLayer& first = compute.table_network.layers[0];
  EXPECT_EQ(first.weight.front(), -0.04475726559758186F);
  EXPECT_EQ(first.weight.back(), -0.11632059514522552F);
  EXPECT_EQ(compute.table_network.layers[1].weight[5 * 128 + 7], -0.03021794743835926F);
  EXPECT_EQ(compute.head.layers[1].bias[0], 0.05469539016485214F);
  ASSERT_EQ(compute.features.mean.size(), 20U);
  EXPECT_EQ(compute.features.mean[19], 2875135.5F);
  EXPECT_EQ(compute.features.std[0], 0.15106439590454102F);
}

TEST(Checkpoint, ReadsTheCommunicationModelsOfEveryDeviceCount) {
  for (const int devices : {2, 4, 8, 16}) {
    SCOPED_TRACE(devices);
    const std::string name = "comm_" + std::to_string(devices);
    const CommCheckpoint forward = load_comm_checkpoint(kModels / (name + "_fw.pt"));
    EXPECT_EQ(forward.devices, devices);
    EXPECT_EQ(forward.direction, CommDirection::kForward);
    EXPECT_THAT(widths(forward.network.network),
                ElementsAre(2 * devices, 128, 64, 32, 16, devices));
    const CommCheckpoint backward = load_comm_checkpoint(kModels / (name + "_bw.pt"));
    EXPECT_EQ(backward.devices, devices);
    EXPECT_EQ(backward.direction, CommDirection::kBackward);
    EXPECT_THAT(widths(backward.network.network), ElementsAre(devices, 128, 64, 32, 16, devices));
  }
  const DenseCommNetwork four = load_comm_checkpoint(kModels / "comm_4_fw.pt").network;
  EXPECT_EQ(four.network.layers[2].weight[5 * 64 + 9], 0.010670742020010948F);
  EXPECT_EQ(four.network.layers[4].bias[3], -0.09652374684810638F);
  EXPECT_EQ(four.features.mean[7], 2.915133237838745F);
}

TEST(Checkpoint, ReadsEveryWayOfSavingTheSameModel) {
  const ComputeModel model = testing::random_models(1).compute;
  for (const Packing packing : {Packing::kStored, Packing::kDeflated}) {
    for (const bool float64 : {false, true}) {
      for (const bool one_storage : {false, true}) {
        for (const int protocol : {2, 4}) {
          SCOPED_TRACE(::testing::Message() << float64 << one_storage << protocol);
          const std::string bytes =
              make_compute_checkpoint(model, {packing, float64, one_storage, protocol});
          EXPECT_EQ(fingerprint(parse_compute_checkpoint(bytes, "m.pt")), fingerprint(model));
        }
      }
    }
  }
}

TEST(Checkpoint, ReadsADeflatedCopyOfTheGoldenModel) {
  const auto entries = testing::read_zip(read_file(kModels / "compute.pt"));
  const std::string deflated = make_zip(entries, Packing::kDeflated);
  EXPECT_EQ(fingerprint(parse_compute_checkpoint(deflated, "m.pt")),
            fingerprint(load_compute_checkpoint(kModels / "compute.pt")));
}

TEST(Checkpoint, ReadsOtherLayerSizes) {
  const ComputeModel model =
      testing::random_models(2, {.table_network = {7}, .head = {3, 5, 1}, .comm = {4}, .devices{}})
          .compute;
  const std::string bytes = make_compute_checkpoint(model);
  EXPECT_EQ(fingerprint(parse_compute_checkpoint(bytes, "m.pt")), fingerprint(model));
}

TEST(Checkpoint, MakesModelsOfATrio) {
  CostModels models =
      load_checkpoints(kModels / "compute.pt", kModels / "comm_4_fw.pt", kModels / "comm_4_bw.pt");
  EXPECT_EQ(models.dense_comm.size(), 1U);
  EXPECT_TRUE(models.has_comm_for(4));
  EXPECT_THAT(models.metadata.at("source"), HasSubstr("compute.pt"));
  add_comm_checkpoints(models, kModels / "comm_2_fw.pt", kModels / "comm_2_bw.pt");
  EXPECT_TRUE(models.has_comm_for(2));
  EXPECT_TRUE(models.has_comm_for(4));
  validate(models);
}

TEST(Checkpoint, RejectsMixedUpFiles) {
  const auto error = [](const char* forward, const char* backward) {
    return message_of([&] {
      (void)load_checkpoints(kModels / "compute.pt", kModels / forward, kModels / backward);
    });
  };
  EXPECT_THAT(error("comm_4_bw.pt", "comm_4_fw.pt"),
              HasSubstr("comm_4_bw.pt: is a backward model; give the forward one here"));
  EXPECT_THAT(error("comm_4_fw.pt", "comm_4_fw.pt"),
              HasSubstr("comm_4_fw.pt: is a forward model; give the backward one here"));
  EXPECT_THAT(error("comm_4_fw.pt", "comm_8_bw.pt"),
              HasSubstr("comm_8_bw.pt: is for 8 devices, but"));
  EXPECT_THAT(error("compute.pt", "comm_8_bw.pt"),
              HasSubstr("compute.pt: the tensor 'hidden.0.weight' is missing"));
  EXPECT_THAT(message_of([] { (void)load_compute_checkpoint(kModels / "comm_4_fw.pt"); }),
              HasSubstr("comm_4_fw.pt: the tensor 't_hidden.0.weight' is missing"));
}

TEST(Checkpoint, RejectsModelsThatAreNotSound) {
  const auto error = [](const auto& change) {
    ComputeModel model = testing::random_models(3).compute;
    change(model);
    return message_of(
        [&] { (void)parse_compute_checkpoint(make_compute_checkpoint(model), "m.pt"); });
  };
  EXPECT_THAT(error([](ComputeModel& m) { m.head.layers[0].weight[5] = NAN; }),
              "m.pt: compute model, head: layer 0: a weight is NaN or infinite; train or convert "
              "the model again");
  EXPECT_THAT(error([](ComputeModel& m) { m.features.std[3] = 0.0F; }),
              HasSubstr("a feature standard deviation is not positive"));
  EXPECT_THAT(error([](ComputeModel& m) { m.features.mean.pop_back(); }),
              HasSubstr("has 19 feature means"));
  EXPECT_THAT(error([](ComputeModel& m) { m.head.layers.clear(); }),
              HasSubstr("the tensor 'c_hidden.0.weight' is missing"));
  EXPECT_THAT(error([](ComputeModel& m) { m.head.layers.erase(m.head.layers.begin()); }),
              HasSubstr("head: layer 0: takes 64 inputs, but 32 arrive"));
  EXPECT_THAT(error([](ComputeModel& m) { m.head.layers[0].bias.resize(3); }),
              HasSubstr("'c_hidden.0.bias': has 3 values for the 64 outputs"));
}

TEST(Checkpoint, RejectsFloat64BeyondFloat32) {
  // A weight of 1e300, in place of the last number of the last storage.
  const ComputeModel model = testing::random_models(4).compute;
  auto entries = testing::read_zip(make_compute_checkpoint(model, {.float64 = true}));
  for (ZipEntry& entry : entries) {
    if (entry.name == "model/data/0") {
      entry.bytes.replace(0, 8, testing::float64_bytes({1e300}));
    }
  }
  EXPECT_THAT(message_of([&] {
                (void)parse_compute_checkpoint(make_zip(entries, Packing::kStored), "m.pt");
              }),
              HasSubstr("table network: layer 0: a weight is NaN or infinite"));
}

TEST(Checkpoint, SaysWhichFileCannotBeRead) {
  EXPECT_THAT(message_of([] { (void)load_compute_checkpoint("no.pt"); }, ErrorKind::kIo),
              "no.pt: cannot be read: No such file or directory");
}

}  // namespace
}  // namespace neuroshard
