// Single operations of the CUDA backend against the scalar one: equal to the last bit.
#include <gmock/gmock.h>

#include <functional>
#include <random>

#include "cuda/cuda_test.h"
#include "golden.h"
#include "random_tasks.h"

namespace neuroshard {
namespace {

using ::testing::ElementsAreArray;
using testing::golden_models;
using testing::random_models;

using Operations = testing::CudaTest;

struct Case {
  std::string name;
  CostModels models;
  std::vector<int> devices;
};

std::vector<Case> cases() {
  const std::vector<int> several = {1, 2, 5, 40};
  return {
      {"published models", golden_models(), {2, 4, 8, 16}},
      {"symmetric", random_models(1), {1, 2, 7, 33, 128, 1024}},
      {"dense", random_models(2, {.comm = {128, 64, 32, 16}, .devices = several}), several},
      {"odd sizes",
       random_models(
           3, {.table_network = {17, 12}, .head = {21, 1}, .comm = {9, 5}, .devices = several}),
       several},
      {"one layer",
       random_models(4, {.table_network = {40}, .head = {1}, .comm = {}, .devices = several}),
       several},
      {"deep",
       random_models(5, {.table_network = {24, 31, 48},
                         .head = {32, 16, 8, 1},
                         .comm = {6, 1, 7},
                         .devices = {}}),
       {3, 64}},
      {"one unit",
       random_models(6, {.table_network = {8, 1}, .head = {1, 1}, .comm = {1}, .devices = {}}),
       {2}},
  };
}

std::vector<float> random_floats(std::uint64_t seed, std::size_t count, float low, float high) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> draw(low, high);
  std::vector<float> values(count);
  for (float& x : values) x = draw(random);
  return values;
}

// `before`: what the outputs hold before they are written.
std::vector<float> embeddings_of(const Backend& backend, std::span<const float> features,
                                 float before = 0.0F) {
  std::vector<float> embeddings(
      features.size() / kTableFeatures * static_cast<std::size_t>(backend.embedding_width()),
      before);
  backend.embed_pieces(features, embeddings);
  return embeddings;
}

TEST_F(Operations, EmbedPieces) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const auto scalar = make_cpu_backend(c.models, {.name = "scalar"});
    const auto cuda = make_cuda_backend(c.models);
    ASSERT_EQ(cuda->name(), "cuda");
    ASSERT_EQ(cuda->embedding_width(), scalar->embedding_width());
    for (const std::size_t pieces : {0, 1, 5, 203}) {
      const auto features = random_floats(pieces, pieces * kTableFeatures, -1.0F, 3.0F);
      EXPECT_THAT(embeddings_of(*cuda, features, -1e30F),
                  ElementsAreArray(embeddings_of(*scalar, features)));
    }
  }
}

struct Shards {
  std::vector<std::uint32_t> offsets{0};
  std::vector<std::uint32_t> ids;
};

Shards random_shards(std::uint64_t seed, int shards, int pieces, int longest) {
  std::mt19937_64 random(seed);
  Shards batch;
  for (int s = 0; s < shards; ++s) {
    const auto length = random() % static_cast<std::uint64_t>(longest + 1);
    for (std::uint64_t k = 0; k < length; ++k) {
      batch.ids.push_back(
          static_cast<std::uint32_t>(random() % static_cast<std::uint64_t>(pieces)));
    }
    batch.offsets.push_back(static_cast<std::uint32_t>(batch.ids.size()));
  }
  return batch;
}

void expect_same_scores(const Backend& a, const Backend& b, int shards, int longest) {
  const int pieces = 70;
  const auto embeddings = embeddings_of(
      b, random_floats(9, static_cast<std::size_t>(pieces) * kTableFeatures, -1.0F, 3.0F));
  const Shards batch = random_shards(static_cast<std::uint64_t>(shards), shards, pieces, longest);
  std::vector<float> cost_a(static_cast<std::size_t>(shards), -1e30F);
  std::vector<float> cost_b(static_cast<std::size_t>(shards), -1e30F);
  a.score_shards(embeddings, {batch.offsets, batch.ids}, cost_a);
  b.score_shards(embeddings, {batch.offsets, batch.ids}, cost_b);
  EXPECT_THAT(cost_a, ElementsAreArray(cost_b));
}

TEST_F(Operations, ScoreShards) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const auto scalar = make_cpu_backend(c.models, {.name = "scalar"});
    const auto cuda = make_cuda_backend(c.models);
    for (const int shards : {0, 1, 7, 300}) expect_same_scores(*cuda, *scalar, shards, 20);
    expect_same_scores(*cuda, *scalar, 1, 400);
  }
}

// Numbers of tables of the shards of a large batch.
struct LargeBatch {
  std::string name;
  std::function<int(int shard, std::mt19937_64& random)> tables;
};

std::vector<LargeBatch> large_batches() {
  using Random = std::mt19937_64;
  return {
      {"empty", [](int, Random&) { return 0; }},
      {"of 8", [](int, Random&) { return 8; }},
      {"of 5", [](int, Random&) { return 5; }},
      {"of 8 after one of 3", [](int s, Random&) { return s == 0 ? 3 : 8; }},
      {"up to 18", [](int, Random& random) { return static_cast<int>(random() % 19); }},
      {"of 40", [](int, Random&) { return 40; }},
      {"few long ones", [](int s, Random& random) { return random() % 50 == 0 ? 300 : s % 3; }},
  };
}

Shards shards_of(const LargeBatch& kind, int shards, int pieces) {
  std::mt19937_64 random(static_cast<std::uint64_t>(pieces));
  Shards batch;
  for (int s = 0; s < shards; ++s) {
    for (int k = kind.tables(s, random); k > 0; --k) {
      batch.ids.push_back(
          static_cast<std::uint32_t>(random() % static_cast<std::uint64_t>(pieces)));
    }
    batch.offsets.push_back(static_cast<std::uint32_t>(batch.ids.size()));
  }
  return batch;
}

// Enough of them for the kernel for large batches, and not a multiple of its tiles.
int many_shards() { return 512 * cuda_devices().front().multiprocessors + 77; }

std::vector<float> embeddings_of_pieces(const Backend& backend, int pieces) {
  return embeddings_of(
      backend, random_floats(9, static_cast<std::size_t>(pieces) * kTableFeatures, -1.0F, 3.0F));
}

TEST_F(Operations, ScoreLargeBatches) {
  const auto scalar = make_cpu_backend(golden_models(), {.name = "scalar"});
  const auto cuda = make_cuda_backend(golden_models());
  // The last ones are more than a multiprocessor has room for.
  for (const int pieces : {1, 70, 3000}) {
    const std::vector<float> embeddings = embeddings_of_pieces(*scalar, pieces);
    for (const LargeBatch& kind : large_batches()) {
      SCOPED_TRACE(kind.name + ", " + std::to_string(pieces) + " pieces");
      const Shards batch = shards_of(kind, many_shards(), pieces);
      std::vector<float> expected(batch.offsets.size() - 1, -1e30F);
      std::vector<float> actual(expected.size(), -2e30F);
      scalar->score_shards(embeddings, {batch.offsets, batch.ids}, expected);
      cuda->score_shards(embeddings, {batch.offsets, batch.ids}, actual);
      EXPECT_EQ(actual, expected);
    }
  }
}

// A device after an edit is a shard, too, of its sum, what leaves negated, and what comes: added up
// in the order in which EditPrices does.
TEST_F(Operations, ScoreDevicesAfterEdits) {
  constexpr std::uint32_t kPieces = 50;
  constexpr std::uint32_t kDevices = 8;
  const auto scalar = make_cpu_backend(golden_models(), {.name = "scalar"});
  const auto cuda = make_cuda_backend(golden_models());
  const auto width = static_cast<std::size_t>(scalar->embedding_width());
  std::vector<float> rows = embeddings_of_pieces(*scalar, kPieces);
  rows.resize((2 * kPieces + kDevices + 1) * width, 0.0F);
  const std::size_t sums = 2 * std::size_t{kPieces} * width;
  for (std::size_t i = 0; i < kPieces * width; ++i) {
    rows[kPieces * width + i] = -rows[i];
    rows[sums + i / width % kDevices * width + i % width] += rows[i];
  }
  for (const int edits : {300, many_shards()}) {
    std::mt19937_64 random(7);
    Shards batch;
    std::vector<float> trials;
    for (int e = 0; e < edits; ++e) {
      const auto leaves = static_cast<std::uint32_t>(random() % kPieces);
      const auto comes = static_cast<std::uint32_t>(random() % kPieces);
      const std::uint32_t device = leaves % kDevices;
      batch.ids.insert(batch.ids.end(),
                       {2 * kPieces + device, kPieces + leaves, comes, 2 * kPieces + kDevices});
      batch.offsets.push_back(static_cast<std::uint32_t>(batch.ids.size()));
      for (std::size_t i = 0; i < width; ++i) {
        float sum = rows[sums + device * width + i];
        sum += -1.0F * rows[leaves * width + i];
        sum += 1.0F * rows[comes * width + i];
        trials.push_back(sum);
      }
    }
    std::vector<float> expected(static_cast<std::size_t>(edits), -1e30F);
    std::vector<float> actual(expected.size(), -2e30F);
    make_cpu_backend(golden_models())->cost_runner(kDevices)->compute(trials, expected);
    cuda->score_shards(rows, {batch.offsets, batch.ids}, actual);
    EXPECT_EQ(actual, expected);
  }
}

// The second time all-to-alls start later than any that the networks know.
TEST_F(Operations, CommunicationCosts) {
  std::vector<Case> all = cases();
  for (std::size_t i = 0, known = all.size(); i < known; ++i) {
    all.push_back(all[i]);
    all.back().models = testing::with_offsets_up_to(all[i].models, 2.5);
  }
  for (const Case& c : all) {
    const auto scalar = make_cpu_backend(c.models, {.name = "scalar"});
    const auto cuda = make_cuda_backend(c.models);
    for (const int devices : c.devices) {
      SCOPED_TRACE(c.name + ", devices: " + std::to_string(devices));
      for (const int rows : {0, 1, 6, 45}) {
        if (rows * devices > 10000) continue;
        const auto size = static_cast<std::size_t>(rows * devices);
        auto dims = random_floats(size, size, 0.0F, 2000.0F);
        for (float& dim : dims) dim = std::round(dim / 4.0F) * 4.0F;
        const auto offsets = random_floats(size + 1, size, 0.0F, 20.0F);
        std::vector<float> expected(size, -1e30F);
        std::vector<float> actual(size, -2e30F);
        scalar->forward_comm(devices, dims, offsets, expected);
        cuda->forward_comm(devices, dims, offsets, actual);
        EXPECT_THAT(actual, ElementsAreArray(expected));
        scalar->backward_comm(devices, dims, expected);
        cuda->backward_comm(devices, dims, actual);
        EXPECT_THAT(actual, ElementsAreArray(expected));
      }
    }
  }
}

}  // namespace
}  // namespace neuroshard
