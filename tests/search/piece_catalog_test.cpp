#include "search/piece_catalog.h"

#include <gtest/gtest.h>

#include <chrono>

#include "golden.h"
#include "random_tasks.h"

namespace neuroshard {
namespace {

using std::chrono::steady_clock;
using testing::random_task;

class PieceCatalogTest : public ::testing::Test {
 protected:
  PieceCatalogTest() {
    for (std::uint64_t seed = 0; pieces_ < 3000; ++seed) {
      tasks_.push_back(random_task(seed));
      pieces_ += PieceCatalog(tasks_.back(), kTableFeatures).size();
    }
  }
  [[nodiscard]] std::vector<PieceCatalog> catalogs() const {
    std::vector<PieceCatalog> all;
    for (const Task& task : tasks_) all.emplace_back(task, cpu_->table_features());
    return all;
  }

  std::unique_ptr<Backend> cpu_ = make_cpu_backend(testing::golden_models());
  std::vector<Task> tasks_;
  std::size_t pieces_ = 0;
};

TEST_F(PieceCatalogTest, CostsTheSameInCompanyAndInParts) {
  const StopCondition never;
  const StopCondition in_an_hour(steady_clock::now() + std::chrono::hours(1), {});
  for (const StopCondition& stop : {never, in_an_hour}) {
    std::vector<PieceCatalog> together = catalogs();
    PieceCatalog::embed(*cpu_, together, stop);
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      SCOPED_TRACE(i);
      const PieceCatalog alone(*cpu_, tasks_[i]);
      ASSERT_EQ(together[i].embeddings(), alone.embeddings());
      for (std::uint32_t piece = 0; piece < alone.size(); ++piece) {
        ASSERT_EQ(together[i].cost_ms(piece), alone.cost_ms(piece));
      }
    }
  }
}

TEST_F(PieceCatalogTest, HasNoEmbeddingsIfItIsStoppedBefore) {
  const StopCondition stop(steady_clock::now(), {});
  std::vector<PieceCatalog> together = catalogs();
  PieceCatalog::embed(*cpu_, together, stop);
  for (const PieceCatalog& catalog : together) EXPECT_TRUE(catalog.embeddings().empty());
  PieceCatalog::embed(*cpu_, together);
  for (const PieceCatalog& catalog : together) EXPECT_FALSE(catalog.embeddings().empty());
}

}  // namespace
}  // namespace neuroshard
