#include "neuroshard/policy_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "message_of.h"
#include "random_policies.h"
#include "weights/files/read_file.h"
#include "weights/files/safetensors.h"
#include "weights/files/torch_writer.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using testing::policy_path;
using testing::random_policy;

std::string policy_error(const std::string& bytes) {
  return message_of([&] { (void)parse_policy(bytes, "p"); });
}

std::string changed(const PlacementPolicy& policy,
                    const std::function<void(Safetensors&)>& change) {
  Safetensors contents = parse_safetensors(serialize_policy(policy), "p");
  change(contents);
  return serialize_safetensors(contents);
}

TEST(PolicyFile, IsReadBackAsItWas) {
  for (const Algorithm algorithm : {Algorithm::kDreamshard, Algorithm::kAutoshard}) {
    PlacementPolicy policy = *random_policy(algorithm);
    policy.metadata["hardware"] = "h100";
    const std::string bytes = serialize_policy(policy);
    const PlacementPolicy read = parse_policy(bytes, "p");
    EXPECT_EQ(algorithm_of(read), name_of(algorithm));
    EXPECT_EQ(read.metadata.at("hardware"), "h100");
    EXPECT_EQ(serialize_policy(read), bytes);
  }
}

TEST(PolicyFile, ReadsPublishedCheckpoints) {
  const PlacementPolicy dreamshard = load_policy(policy_path("dreamshard_trained.pt"));
  EXPECT_EQ(algorithm_of(dreamshard), "dreamshard");
  const PlacementPolicy autoshard = load_policy(policy_path("autoshard_trained.tar"));
  const auto& networks = std::get<AutoshardPolicy>(autoshard.networks);
  EXPECT_FLOAT_EQ(networks.features.mean[0], 22.2666667F);
  EXPECT_FLOAT_EQ(networks.features.std[2], 27.1633740F);
}

TEST(PolicyFile, OnesThatAreReadyAreOfTheirNames) {
  for (const char* algorithm : {"dreamshard", "autoshard"}) {
    for (const char* hardware : {"a100", "h100"}) {
      const PlacementPolicy policy =
          load_policy(std::string(NEUROSHARD_TEST_DATA) + "/../../weights/pretrained/policies/" +
                      algorithm + "_" + hardware + ".safetensors");
      EXPECT_EQ(algorithm_of(policy), algorithm);
      EXPECT_EQ(policy.metadata.at("hardware"), hardware);
    }
  }
}

TEST(PolicyFile, NamesWhatIsWrong) {
  const PlacementPolicy policy = *random_policy(Algorithm::kDreamshard);
  EXPECT_THAT(policy_error(changed(policy, [](Safetensors& of) { of.metadata["format"] = "x"; })),
              HasSubstr("p: the metadata's 'format' is not 'neuroshard policy'; give a file that "
                        "'neuroshard train policy' has written"));
  EXPECT_THAT(
      policy_error(changed(policy, [](Safetensors& of) { of.metadata["algorithm"] = "x"; })),
      HasSubstr("'algorithm' is 'x'; this program reads 'dreamshard' and 'autoshard'"));
  EXPECT_THAT(policy_error(changed(policy,
                                   [](Safetensors& of) {
                                     of.tensors["more"] = {{1}, {0}};
                                   })),
              HasSubstr("unknown tensor 'more'"));
  EXPECT_THAT(
      policy_error(changed(policy, [](Safetensors& of) { of.tensors.erase("choice.0.bias"); })),
      HasSubstr("'choice.0.bias' is missing"));
  EXPECT_THAT(policy_error(changed(policy,
                                   [](Safetensors& of) {
                                     of.tensors["choice.0.weight"] = {{1, 2}, {0, 0}};
                                   })),
              HasSubstr("p: network 'choice': has the layers 2-1; expected 64-1"));
  EXPECT_THAT(policy_error(changed(policy,
                                   [](Safetensors& of) {
                                     of.tensors["choice.0.bias"].values[0] =
                                         std::numeric_limits<float>::infinity();
                                   })),
              HasSubstr("network 'choice': a weight is NaN or infinite"));
  EXPECT_THAT(
      policy_error(changed(*random_policy(Algorithm::kAutoshard),
                           [](Safetensors& of) { of.tensors["features.std"].values[1] = 0.0F; })),
      HasSubstr("expected three finite means and positive deviations"));
}

TEST(PolicyFile, SurvivesAnyCut) {
  for (const char* name : {"dreamshard_trained.pt", "autoshard_trained.tar"}) {
    const std::string bytes = read_file(policy_path(name));
    for (std::size_t size = 0; size < bytes.size(); size += bytes.size() / 25) {
      (void)policy_error(bytes.substr(0, size));
    }
  }
}

TEST(PolicyFile, OfAutoshardNeedsWhatNormalizesFeatures) {
  using testing::PickleWriter;
  PickleWriter pickle;
  pickle.empty_ordered_dict().raw("(").text("t_fc_0.weight");
  pickle.tensor("FloatStorage", "0", 1, 0, {1}, {1}).raw("u");
  const std::string bytes = testing::make_zip(
      {{"m/data.pkl", pickle.finish()}, {"m/data/0", testing::float32_bytes({1.0F})}},
      testing::Packing::kStored);
  EXPECT_THAT(policy_error(bytes),
              HasSubstr("has AutoShard's networks, but not the feature_means"));
}

}  // namespace
}  // namespace neuroshard
