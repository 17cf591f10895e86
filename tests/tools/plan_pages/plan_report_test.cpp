#include "tools/plan_pages/plan_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/plan_pages/table_work.h"
#include "tools/reported_plan.h"

namespace neuroshard::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(PlanReport, ShowsWaitingApartFromTheForwardAllToAll) {
  const PlanDocument document = reported_plan();
  const std::vector<ShownTerm> terms = shown_terms(document.cost);
  ASSERT_EQ(terms.size(), 4U);
  EXPECT_EQ(terms[1].name, "forward");
  EXPECT_THAT(terms[1].ms, ElementsAre(0.0, 2.0, 0.0));
  EXPECT_EQ(terms[3].name, kWaiting);
  EXPECT_THAT(terms[3].ms, ElementsAre(1.0, 0.0, 1.5));
  const std::string page = plan_page(document, {.columns = 120});
  // Device 1 works for 6 ms, device 0 for 2 of its 3.
  EXPECT_THAT(page, HasSubstr("device 1; imbalance 1.895 (most work / mean)"));
  EXPECT_THAT(page, HasSubstr("  . waiting\n"));
  const auto bar_of = [&](int device) {
    const std::size_t at = page.find("\n     " + std::to_string(device) + "  ") + 9;
    return page.substr(at, page.find(' ', at) - at);
  };
  const std::string longest = bar_of(1);
  EXPECT_THAT(longest, Not(HasSubstr(".")));
  const std::string waits = bar_of(0);
  EXPECT_EQ(waits.size(), (longest.size() + 1) / 2);
  const std::size_t work = waits.find('.');
  EXPECT_NEAR(static_cast<double>(work), static_cast<double>(longest.size()) / 3.0, 1.0);
  EXPECT_EQ(waits.substr(work).find_first_not_of('.'), std::string::npos);
}

TEST(PlanReport, ShowsOfIdsWhatIsNotHidden) {
  PlanDocument document = reported_plan();
  for (DeviceCost& device : document.cost.devices) device.ids_ms = 1.0;
  document.cost.devices[1].hidden_ms = 0.75;
  const std::vector<ShownTerm> terms = shown_terms(document.cost);
  EXPECT_EQ(terms[3].name, "ids");
  EXPECT_THAT(terms[3].ms, ElementsAre(1.0, 0.25, 1.0));
  EXPECT_THAT(plan_page(document, {.columns = 120}),
              HasSubstr("0.750 ms of ids run behind the iteration before"));
}

TEST(PlanReport, TellsAllTermsApart) {
  PlanDocument document = reported_plan();
  for (DeviceCost& device : document.cost.devices) {
    device.ids_ms = device.all_reduce_ms = device.dense_ms = 1.0;
  }
  ASSERT_EQ(shown_terms(document.cost).size(), 7U);
  EXPECT_THAT(plan_page(document, {.columns = 160}), HasSubstr("  * dense  . waiting\n"));
}

TEST(PlanReport, SaysWhatDevicesTakeWhereTheHostDecides) {
  PlanDocument document = reported_plan();
  const double slowest_ms = document.cost.slowest_ms();
  EXPECT_EQ(decided_by(document.cost), "device 1");
  document.cost.host_ms = document.cost.cost_ms = slowest_ms + 1.0;
  EXPECT_EQ(decided_by(document.cost),
            "the host (devices take up to " + format_ms(slowest_ms) + " ms)");
  EXPECT_THAT(plan_page(document, {.columns = 120}), HasSubstr("set by the host (devices take"));
}

TEST(PlanReport, SaysWhichRowsDevicesAndNodesHold) {
  PlanDocument document = reported_plan();
  document.task.tables[0].rows += 1030;
  document.task.tables[1].rows += 60;
  document.plan.hot_rows = {{0, 1030}, {1, 20, 40}};
  EXPECT_THAT(plan_page(document, {.columns = 400}),
              HasSubstr("2 tables whose hottest rows are on every device, or on each node: user "
                        "(1,030 of 2,030), table 1 (20 and 40 once a node of 560)"));
  EXPECT_THAT(shard_lists(document),
              HasSubstr("\nevery device: user hottest 1,030 rows, table 1 hottest 20 rows\n"
                        "each node: table 1 next 40 rows\n"));
  const ShardingWords words(document.task, document.plan);
  EXPECT_THAT(words.of(1), HasSubstr(", hot rows on all, rows on each node"));
  document.task.tables[0].rows -= 1030;
  document.plan.hot_rows = {{1, 0, 60}};
  EXPECT_THAT(plan_page(document, {.columns = 400}),
              HasSubstr("1 table whose hottest rows are on every device, or on each node: table 1 "
                        "(60 once a node of 560)"));
  EXPECT_THAT(shard_lists(document), HasSubstr("\neach node: table 1 next 60 rows\n"));
  EXPECT_THAT(shard_lists(document), Not(HasSubstr("every device")));
  EXPECT_THAT(words.of(0), Not(HasSubstr("node")));
}

TEST(PlanReport, SaysNothingOfWaitingWhereNobodyWaits) {
  PlanDocument document = reported_plan();
  for (DeviceCost& device : document.cost.devices) device = document.cost.devices[1];
  EXPECT_EQ(shown_terms(document.cost).size(), 3U);
  EXPECT_THAT(plan_page(document, {.columns = 120}), Not(HasSubstr("waiting")));
}

}  // namespace
}  // namespace neuroshard::tools
