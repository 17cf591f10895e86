#include "tools/plan_pages/html_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/base/message_text.h"
#include "neuroshard/waiting.h"
#include "tools/plan_pages/table_work.h"
#include "tools/reported_plan.h"
#include "tools/text/text.h"

namespace neuroshard::tools {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin);
  if (from == std::string::npos) return {};
  const std::size_t start = from + begin.size();
  return text.substr(start, text.find(end, start) - start);
}

/// The rows of the first table of a section.
std::string body_of(const std::string& html, const std::string& section) {
  return between(html.substr(html.find("id=\"" + section + "\"")), "<tbody>", "</tbody>");
}

json data_of(const std::string& html) {
  return json::parse(between(html, R"(<script type="application/json" id="data">)", "</script>"));
}

TEST(HtmlReport, HasEveryDeviceWithoutScripts) {
  const PlanDocument document = reported_plan();
  const std::string html = html_report(document);
  EXPECT_THAT(html, ::testing::StartsWith("<!doctype html>\n"));
  EXPECT_THAT(html, AllOf(HasSubstr("<h1>reported</h1>"), HasSubstr("on 3 devices of 1.00 GiB"),
                          HasSubstr("<dd>6.00 ms<small>"), HasSubstr("<dd>device 1<small>"),
                          HasSubstr("<dd>1.895<small>"), HasSubstr("20 candidates")));
  const std::string table = body_of(html, "devices");
  EXPECT_EQ(count(table, "<tr"), 3U);
  EXPECT_EQ(count(table, "<tr class=\"deciding\"><th scope=\"row\">1<td>6.00<td>3.00"), 1U);
  EXPECT_EQ(count(html, "<th scope=\"col\">waiting<th scope=\"col\">weights"), 1U);
  EXPECT_THAT(table, AllOf(HasSubstr("<td>0.500<td>0.0000<td>1.00<td>1.50<td>"),
                           HasSubstr("<td>3.00<td>2.00<td>1.00<td>0.0000<td>")));
  for (const DeviceCost& device : document.cost.devices) {
    EXPECT_THAT(table, HasSubstr("<td>" + format_bytes(device.memory.optimizer_bytes) + "<td>"));
    EXPECT_THAT(table, HasSubstr("<td>" + format_bytes(device.free_bytes) + "<td>"));
  }
}

TEST(HtmlReport, DataIsThatOfThePlan) {
  const PlanDocument document = reported_plan();
  const json data = data_of(html_report(document));
  EXPECT_EQ(data["devices"]["terms"]["compute"], json({1.0, 3.0, 0.5}));
  EXPECT_EQ(data["devices"]["terms"]["forward"], json({0.0, 2.0, 0.0}));
  EXPECT_EQ(data["devices"]["terms"]["waiting"], json({1.0, 0.0, 1.5}));
  EXPECT_EQ(data["devices"]["buffers"], json({5, 6, 7}));
  EXPECT_EQ(data["devices"]["slices"], json({2, 1, 1}));
  EXPECT_EQ(data["tables"]["name"], json({"user", "table 1"}));
  EXPECT_EQ(data["tables"]["dim"], json({64, 32}));
  EXPECT_EQ(data["slices"]["table"], json({0, 1, 0, 1}));
  EXPECT_EQ(data["slices"]["device"], json({0, 0, 1, 2}));
  EXPECT_EQ(data["slices"]["first_column"], json({0, 0, 16, 0}));
  EXPECT_EQ(data["slices"]["dim"], json({16, 32, 48, 32}));
  EXPECT_EQ(data["slices"]["first_row"], json({0, 0, 0, 100}));
  EXPECT_EQ(data["slices"]["rows"], json({1000, 100, 1000, 400}));
  EXPECT_EQ(data["slices"]["bytes"][0], slice_bytes(document.task, document.plan.slices[0]));
  EXPECT_FALSE(data.contains("moves"));
}

TEST(HtmlReport, ReplicasSitOnEveryDevice) {
  PlanDocument document = reported_plan();
  document.task.tables.push_back({.name = "copied", .rows = 300, .dim = 8, .pooling_factor = 1.0});
  document.plan.replicas = {2};
  const json slices = data_of(html_report(document))["slices"];
  EXPECT_EQ(slices["table"], json({2, 0, 1, 0, 1}));
  EXPECT_EQ(slices["device"], json({-1, 0, 0, 1, 2}));
  EXPECT_EQ(slices["dim"][0], 8);
  EXPECT_EQ(slices["rows"][0], 300);
  EXPECT_EQ(slices["bytes"][0], replica_memory(document.task, 2).total_bytes());
}

TEST(HtmlReport, NamesAreText) {
  PlanDocument document = reported_plan();
  const std::string hostile = "</script><b>&\"'<!--{{data}}\x1b\xff\u202e";
  document.task_name = document.weights = document.task.tables[0].name = hostile;
  document.notes = {hostile};
  document.cost.warning = hostile;
  const std::string html = html_report(document);
  EXPECT_EQ(count(html, "<script"), 2U);
  EXPECT_EQ(count(html, "</script"), 2U);
  EXPECT_THAT(html, AllOf(Not(HasSubstr("<b>")), Not(HasSubstr("<!--")), Not(HasSubstr("\x1b")),
                          Not(HasSubstr("\xff")), Not(HasSubstr("\u202e"))));
  const std::string shown = "&lt;/script&gt;&lt;b&gt;&amp;&quot;&apos;&lt;!--{{data}}\\x1b\\xff";
  EXPECT_EQ(between(html, "<h1>", "\\u202e</h1>"), shown);
  EXPECT_EQ(between(html, "<title>", "\\u202e on 3 devices</title>"), shown);
  EXPECT_EQ(data_of(html)["tables"]["name"][0], printable(hostile));
}

TEST(HtmlReport, SaysWhyAPlanMayBeDoubted) {
  PlanDocument document = reported_plan();
  EXPECT_THAT(html_report(document), Not(HasSubstr("<ul class=\"warnings\"")));
  document.cost.fits_memory = false;
  document.cost.warning = "an odd prediction";
  document.notes = {"a note"};
  document.complete = false;
  document.stats->warning = "a GPU failed";
  const std::string warnings = between(html_report(document), "<ul class=\"warnings\"", "</ul>");
  EXPECT_EQ(count(warnings, "<li>"), 4U);
  EXPECT_THAT(warnings, AllOf(HasSubstr("DOES NOT FIT"), HasSubstr("an odd prediction"),
                              HasSubstr("the deadline"), HasSubstr("a GPU failed")));
  EXPECT_EQ(count(html_report(document), "an odd prediction"), 1U);
}

TEST(HtmlReport, HasWhatIsMoved) {
  PlanDocument document = reported_plan();
  document.moves = PlanMoves{.running_cost_ms = 7.5,
                             .must_move_bytes = 64,
                             .moved_bytes = 96,
                             .moves = {{{0, 0, 16}, -1, 0, 64}, {{1, 0, 32}, 2, 1, 32}}};
  const std::string html = html_report(document);
  EXPECT_THAT(html, HasSubstr("7.50 ms per iteration before the change"));
  const json moves = data_of(html)["moves"];
  EXPECT_EQ(moves["from"], json({-1, 2}));
  EXPECT_EQ(moves["to"], json({0, 1}));
  EXPECT_EQ(moves["bytes"], json({64, 32}));
}

class FirstScreen : public ::testing::TestWithParam<int> {
 protected:
  std::string of(const std::string& section) const {
    return between(html_, "<section class=\"panel\" id=\"" + section + "\"", "</section>");
  }

  const PlanDocument document_ = reported_plan_of(GetParam());
  const std::string last_ = std::to_string(GetParam() - 1);
  const std::string deciding_ = std::to_string(GetParam() - 2);
  const std::string html_ = html_report(
      document_, {.bound = PlanBound{.prices = "prices", .bound_ms = 4.0, .cost_ms = 5.0}});
};

TEST_P(FirstScreen, HasCostBoundAndGap) {
  const std::string figures = between(html_, "<dl class=\"figures\">", "</dl>");
  EXPECT_THAT(figures, AllOf(HasSubstr("<dd>6.00 ms<small>"),
                             HasSubstr("<dd>4.00 ms<small>gap 25.0 %: this "
                                       "plan costs 5.00 ms by prices"),
                             HasSubstr("<dd>device " + deciding_ + "<small>"),
                             HasSubstr("waits longest, 1.00 ms"), HasSubstr("<dd>50 %<small>")));
  EXPECT_THAT(html_report(document_), HasSubstr("not asked for<small>plan --bound"));
}

TEST_P(FirstScreen, HasTheTenCostliestTablesAndHowTheyAreSharded) {
  const std::string table = of("costliest");
  EXPECT_EQ(count(table, "<tr><th scope=\"row\""), 10U);
  const std::string all = counted(static_cast<std::uint64_t>(GetParam()), "block");
  EXPECT_THAT(table, HasSubstr("<tbody>\n<tr><th scope=\"row\" class=\"text name\">table_0<td>"));
  EXPECT_THAT(table, AllOf(HasSubstr("row: " + all + " on 0 to " + last_),
                           HasSubstr("whole on device 3"), HasSubstr("column: 2 slices on 0, 5")));
}

TEST_P(FirstScreen, HasNodesTheBusiestFirst) {
  const std::string table = of("nodes");
  const int nodes = GetParam() / 8;
  EXPECT_EQ(count(table, "<tr><th scope=\"row\""), static_cast<std::size_t>(nodes));
  EXPECT_THAT(table, HasSubstr("<tbody>\n<tr><th scope=\"row\">" + std::to_string(nodes - 1) +
                               "<td>" + std::to_string(GetParam() - 8) + " to " + last_ + "<td"));
  // Seven devices work 5 ms and wait 1, the deciding one works 6.
  EXPECT_THAT(table,
              HasSubstr("<td class=\"most\" title=\"device " + deciding_ + "\">6.00<td>50 %"));
}

TEST_P(FirstScreen, HasTiersAndReplicas) {
  EXPECT_THAT(of("tiers"),
              AllOf(HasSubstr(">HBM<td>" + format_bytes(std::int64_t{GetParam()} << 29) + "<td>" +
                              format_bytes(std::int64_t{GetParam()} << 30)),
                    HasSubstr(">host<td>3.00 MiB<td>"), HasSubstr("<td>device 2, 0 %"),
                    HasSubstr("1 table cached in HBM: table_2 25 %; fetching rows takes up to "
                              "0.125 ms")));
  EXPECT_THAT(of("replicas"), AllOf(HasSubstr("1 table on every device: "), HasSubstr("table_11"),
                                    HasSubstr(" of each, 0.250 ms of its work, and 0.500 ms")));
}

TEST_P(FirstScreen, HasThePlanBesideAnother) {
  const std::string found = of("compared");
  EXPECT_THAT(found,
              AllOf(HasSubstr(">Beside alternative 1<"), HasSubstr(">cost<td>6.00 ms<td>6.50 ms"),
                    HasSubstr("1 table placed otherwise in alternative 1"),
                    HasSubstr(">table_10<td class=\"text\">whole on device 4<td "
                              "class=\"text\">whole on device 3")));
  PlanDocument moved = document_;
  moved.moves = PlanMoves{
      .running_cost_ms = 7.5, .moved_bytes = 64, .moves = {{.columns = {10, 0, 64}, .bytes = 64}}};
  const CostedPlan& other = document_.alternatives[0];
  const std::string html = html_report(
      moved,
      {.running = ComparedPlan{
           "the running plan", moved.task, other.plan, other.cost, {{"bill", "3 $", "<4 $"}}}});
  EXPECT_THAT(html, HasSubstr(">bill<td>3 $<td>&lt;4 $"));
  EXPECT_THAT(html, AllOf(HasSubstr(">Beside the running plan<"),
                          HasSubstr("1 table moved, 64 B in 1 move<"),
                          HasSubstr(">table_10<td class=\"text\">whole on device 4<td ")));
  EXPECT_THAT(html_report(reported_plan()), Not(HasSubstr("id=\"compared\"")));
}

INSTANTIATE_TEST_SUITE_P(Devices, FirstScreen, ::testing::Values(8, 128, 1024));

TEST(TableWork, AddsUpToTheWorkOfDevices) {
  const PlanDocument document = reported_plan_of(8);
  const std::vector<double> ms = table_work_ms(document.task, document.plan, document.cost);
  const std::vector<double> work = work_ms(document.cost);
  EXPECT_NEAR(std::reduce(ms.begin(), ms.end()), std::reduce(work.begin(), work.end()), 1e-9);
  EXPECT_GT(std::ranges::min(ms), 0.0);
}

TEST(HtmlReport, SaysWhyThereIsNoPlan) {
  const std::string html =
      html_report(NoPlanDocument{.task = reported_plan().task,
                                 .infeasible = {.message = "table <0> is too large", .table = 0},
                                 .task_name = "none",
                                 .weights = "built-in",
                                 .notes = {"a note"}});
  EXPECT_THAT(html, AllOf(HasSubstr("No plan: table &lt;0&gt; is too large"), HasSubstr("a note"),
                          Not(HasSubstr("<tbody>"))));
  EXPECT_TRUE(data_of(html).empty());
}

TEST(HtmlReport, TakesNothingFromElsewhere) {
  const std::string html = html_report(reported_plan());
  EXPECT_EQ(count(html, "://"), 1U);
  EXPECT_THAT(html, AllOf(HasSubstr("http://www.w3.org/2000/svg"), Not(HasSubstr("src=")),
                          Not(HasSubstr("@import")), Not(HasSubstr("url(")),
                          HasSubstr("default-src 'none'"), Not(HasSubstr("@script@"))));
}

TEST(HtmlReport, FrameHoldsTheReport) {
  const std::string html = html_report(reported_plan());
  const std::string frame = html_frame(html, "a \"plan\"");
  EXPECT_THAT(frame, ::testing::StartsWith("<iframe title=\"a &quot;plan&quot;\" sandbox="));
  std::string text = between(frame, "srcdoc=\"", "\"");
  for (const auto& [escape, character] :
       {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&apos;", "'"}, {"&amp;", "&"}}) {
    for (std::size_t at = text.find(escape); at != std::string::npos;
         at = text.find(escape, at + 1)) {
      text.replace(at, std::string_view(escape).size(), character);
    }
  }
  EXPECT_TRUE(text == html);
}

}  // namespace
}  // namespace neuroshard::tools
