// The report in a browser, Chromium without a screen: its script runs, finds and sorts, by mouse
// and by keyboard. Skipped where there is no Chromium.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/base/message_text.h"
#include "temporary_folder.h"
#include "tools/plan_pages/html_report.h"
#include "tools/reported_plan.h"

namespace neuroshard::tools {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kHostileHtml =
    "</script><script>window.attacked = true</script><b><img src=x "
    "onerror='window.attacked = true'>";

// Three devices, many slices on the last of them, and a table on all.
PlanDocument hostile_plan(int small_tables) {
  PlanDocument document = reported_plan();
  document.task_name = document.task.tables[0].name = kHostileHtml;
  for (int i = 0; i < small_tables; ++i) {
    document.plan.slices.push_back(
        {static_cast<int>(document.task.tables.size()), 0, 8, 0, 10 + i});
    document.plan.shards[2].push_back(static_cast<int>(document.plan.slices.size()) - 1);
    document.task.tables.push_back(
        {.name = i == 250 ? "a needle" : "small", .rows = 10 + i, .dim = 8, .pooling_factor = 1.0});
  }
  document.plan.replicas = {static_cast<int>(document.task.tables.size())};
  document.task.tables.push_back({.name = "copied", .rows = 4, .dim = 8, .pooling_factor = 1.0});
  return document;
}

class HtmlReportInChromium : public ::testing::Test {
 protected:
  void SetUp() override {
    if (NEUROSHARD_SANITIZED) GTEST_SKIP() << "what is tested runs in the browser, which is slow";
    for (const char* name :
         {"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"}) {
      if (std::system(("command -v " + std::string(name) + " >/dev/null").c_str()) == 0) {
        program_ = name;
        return;
      }
    }
    GTEST_SKIP() << "there is no Chromium here";
  }

  // Opens `html` and returns what the reader sees; what it writes on its console is in `log_`.
  json seen(std::string html, const std::string& options = "") {
    const std::string end = "</body>";
    html.insert(html.rfind(end), "<script>const kBytes = " + json(bytes_).dump() + ";\n" +
                                     contents_of(NEUROSHARD_REPORT_READER) + "</script>");
    const std::string file = folder_.write("report.html", html);
    const std::string command =
        "HOME='" + folder_ / "home" + "' " + program_ +
        " --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars "
        "--no-first-run --disable-background-networking --disable-component-update "
        "--enable-logging=stderr --window-size=1200,1600 --user-data-dir='" +
        folder_ / "profile" + "' " + options + " --dump-dom 'file://" + file + "' >'" +
        folder_ / "dom" + "' 2>'" + folder_ / "log" + "'";
    EXPECT_EQ(std::system(command.c_str()), 0) << contents_of(folder_ / "log");
    dom_ = contents_of(folder_ / "dom");
    log_ = contents_of(folder_ / "log");
    const std::string begin = "<pre id=\"seen\">";
    const std::size_t from = dom_.find(begin);
    if (from == std::string::npos) return json::object();
    const std::size_t text = from + begin.size();
    return json::parse(dom_.substr(text, dom_.find("</pre>", text) - text), nullptr, false);
  }

  // Some are halfway between two numbers that can be written.
  const std::vector<std::int64_t> bytes_ = {0,       17,        1023,        1024,
                                            8320,    8330,      10496,       10394,
                                            1 << 19, 123456789, 10737418240, std::int64_t{1} << 50};
  const TemporaryFolder folder_;
  std::string program_;
  std::string dom_;
  std::string log_;
};

TEST_F(HtmlReportInChromium, ShowsFindsAndSorts) {
  const PlanDocument plan = hostile_plan(300);
  const std::string copied_bytes =
      format_bytes(replica_memory(plan.task, plan.plan.replicas[0]).total_bytes());
  const json page = seen(html_report(plan), "--screenshot='" + folder_ / "light.png" + "'");
  ASSERT_TRUE(page.contains("bytes")) << dom_ << log_;
  EXPECT_THAT(log_, Not(HasSubstr("CONSOLE"))) << log_;
  EXPECT_EQ(page["background"], "rgb(255, 255, 255)");
  EXPECT_EQ(page["sideways"], false);
  EXPECT_EQ(page["markup"], 0);
  EXPECT_EQ(page["attacked"], false);
  EXPECT_EQ(page["rows"], 200);
  EXPECT_EQ(page["allRows"], 305);
  EXPECT_THAT(page["count"].get<std::string>(), HasSubstr("304 slices and 1 replicated table, "));
  EXPECT_EQ(page["charts"], 9);
  EXPECT_EQ(page["needle"], json({"a needle|2|all 8|all 260|8.12 KiB"}));
  EXPECT_EQ(page["deviceOne"],
            json({"copied|all|all 8|all 4|" + copied_bytes,
                  std::string(kHostileHtml) + "|1|16 to 63 of 64|all 1,000|188 KiB"}));
  EXPECT_EQ(page["smallest"], "copied|all|all 8|all 4|" + copied_bytes);
  EXPECT_EQ(page["largest"], page["deviceOne"][1]);
  EXPECT_EQ(page["sorted"], "descending");
  EXPECT_EQ(page["devices"], json({"0", "2", "1"}));  // Equal ones in their order.
  EXPECT_THAT(page["cheapest"].get<std::string>(),
              HasSubstr("device 0: total ms 3.00, compute 1.00, forward 0.0000, backward 1.00, "
                        "waiting 1.00, "));
  EXPECT_EQ(page["dearest"], "1");
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    EXPECT_EQ(page["bytes"][i], format_bytes(bytes_[i]));
  }
  const std::string png = contents_of(folder_ / "light.png");
  EXPECT_TRUE(png.starts_with("\x89PNG"));
  EXPECT_GT(png.size(), 20'000U);
}

TEST_F(HtmlReportInChromium, CutsNoHeadOfAColumn) {
  PlanDocument plan = hostile_plan(3);
  for (DeviceCost& device : plan.cost.devices) device.ids_ms = device.all_reduce_ms = 0.25;
  const json page = seen(html_report(plan));
  ASSERT_TRUE(page.contains("clipped")) << dom_ << log_;
  EXPECT_EQ(page["clipped"], json::array());
  EXPECT_EQ(page["sideways"], false);
}

// At the size of a laptop's window everything is there without scrolling; on a phone's screen it is
// below each other, and nothing is wider than that.
TEST_F(HtmlReportInChromium, FirstScreenHasWhatIsLookedForFirst) {
  for (const int devices : {8, 128, 1024}) {
    SCOPED_TRACE(devices);
    const std::string html =
        html_report(reported_plan_of(devices),
                    {.bound = PlanBound{.prices = "prices", .bound_ms = 4.0, .cost_ms = 5.0}});
    const json wide = seen(html, "--window-size=1280,900");
    ASSERT_TRUE(wide.contains("bytes")) << dom_ << log_;
    EXPECT_EQ(wide["sideways"], false);
    EXPECT_EQ(wide["clipped"], json::array());
    EXPECT_EQ(wide["costliest"], "table_0");
    const json narrow = seen(html, "--window-size=420,900");
    EXPECT_EQ(narrow["sideways"], false);
    // No column of a chart is narrower than a pixel.
    EXPECT_EQ(wide["shared"], "");
    EXPECT_EQ(narrow["shared"] != "", devices == 1024);
    for (const char* panel :
         {"figures", "work", "costliest", "nodes", "tiers", "replicas", "compared"}) {
      SCOPED_TRACE(panel);
      ASSERT_TRUE(wide["panels"].contains(panel));
      EXPECT_EQ(wide["panels"][panel], json({{"shown", true}, {"above", true}, {"inside", true}}));
      EXPECT_EQ(narrow["panels"][panel]["shown"], true);
      EXPECT_EQ(narrow["panels"][panel]["inside"], true);
    }
  }
}

// Parts that are not from the script are there although the script fails; and such a failure is
// seen.
TEST_F(HtmlReportInChromium, IsDarkOnRequestAndHasDevicesWithoutItsScript) {
  std::string html = html_report(hostile_plan(0));
  const std::string data = "id=\"data\">{";
  html.replace(html.find(data), data.size(), "id=\"data\">");
  const json page = seen(html, "--blink-settings=preferredColorScheme=0");
  EXPECT_EQ(page["background"], "rgb(20, 23, 27)");
  EXPECT_FALSE(page.contains("rows"));
  EXPECT_THAT(log_, HasSubstr("CONSOLE"));
  EXPECT_THAT(dom_, HasSubstr("<th scope=\"row\">1</th><td>6.00</td><td>3.00</td>"));
}

}  // namespace
}  // namespace neuroshard::tools
