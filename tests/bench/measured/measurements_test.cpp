#include "bench/measured/measurements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "bench/measured/csv_table.h"
#include "message_of.h"
#include "temporary_folder.h"

namespace neuroshard::bench {
namespace {

using ::neuroshard::testing::message_of;
using ::testing::HasSubstr;

constexpr std::array<std::string_view, 3> kCsvColumns = {"name", "size", "note"};

TEST(CsvTable, CellsAreWhatIsBetweenCommas) {
  const TemporaryFolder folder;
  const auto rows =
      read_csv(folder.write("t.csv", "name,size,note\nx < 1, 2,\n,3.5,y"), kCsvColumns);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].text("name"), "x < 1");
  EXPECT_EQ(rows[0].cell("note"), "");
  EXPECT_EQ(rows[1].cell("name"), "");
  EXPECT_EQ(rows[1].positive("size"), 3.5);
  EXPECT_EQ(rows[1].text("note"), "y");
}

TEST(CsvTable, ErrorsNameFileLineAndColumn) {
  const TemporaryFolder folder;
  const std::string path = folder.write("t.csv", "name,size,note\n,1e3x,5\n,-1,7\n,nan,\n");
  const auto rows = read_csv(path, kCsvColumns);
  EXPECT_EQ(message_of([&] { (void)rows[0].text("name"); }), path + ":2: name: is empty");
  EXPECT_EQ(message_of([&] { (void)rows[0].positive("size"); }),
            path + ":2: size: '1e3x' is not a number above 0");
  EXPECT_EQ(message_of([&] { (void)rows[1].positive("size"); }),
            path + ":3: size: '-1' is not a number above 0");
  EXPECT_THAT(message_of([&] { (void)rows[2].positive("size"); }), HasSubstr(":4: size: 'nan'"));
  EXPECT_EQ(rows[0].integer("note", 5, 6), 5);
  EXPECT_EQ(message_of([&] { (void)rows[1].integer("note", 5, 6); }),
            path + ":3: note: '7' is not a whole number from 5 to 6");
  EXPECT_EQ(message_of([&] {
              (void)rows[1].converted("note",
                                      [](const std::string&) -> int { throw Error("odd"); });
            }),
            path + ":3: note: odd");
}

TEST(CsvTable, HeaderAndNumberOfCellsMustBeRight) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of([&] { (void)read_csv(folder.write("a", "name,note\n"), kCsvColumns); }),
              HasSubstr("a:1: the header is 'name,note'; it must be 'name,size,note'"));
  EXPECT_THAT(message_of([&] { (void)read_csv(folder.write("b", ""), kCsvColumns); }),
              HasSubstr("it must be"));
  const std::string bad = folder.write("c", "name,size,note\n1,2,3\n1,2,3,4\n");
  EXPECT_EQ(message_of([&] { (void)read_csv(bad, kCsvColumns); }),
            bad + ":3: has 4 cells; give 3, separated by commas");
  (void)message_of([&] { (void)read_csv(folder / "none", kCsvColumns); }, ErrorKind::kIo);
}

constexpr std::string_view kFused =
    R"({"draw":"few","batch":100,"optimizer":"adam","weight_type":"fp16","pooling":"sum",)"
    R"("weighted":false,"us":{"h100":[7,9]},"source":"me","tables":[[1000,64,300,[60,40.0,20]]]})";

/// A folder of one measurement of each kind, with other lines for some.
struct MeasuredFolder {
  TemporaryFolder folder{};

  explicit MeasuredFolder(
      std::string_view collective = "t,all_to_all,H20,h100,25,16,1024,9.5,me",
      std::string_view operator_ = "o,h100,backward,2,1000,64,3,1.05,adam,4096,7,me",
      std::string_view iteration = "i,h100,M,../m.json,8,512,5,me",
      std::string_view fused = kFused) {
    folder.write("sources.csv", "id,published_in,measured\nme,here,this\n");
    add("collectives.csv",
        "term,collective,gpu,network,between_nodes_gb_s,devices,bytes,measured_us,source\n",
        collective);
    add("operators.csv",
        "term,gpu,pass,tables,rows,dim,pooling_factor,zipf_exponent,optimizer,batch,measured_us,"
        "source\n",
        operator_);
    add("iterations.csv", "term,hardware,model,task,devices,batch,measured_us,source\n", iteration);
    add("fused_operators.jsonl.gz", "", fused);
  }
  void add(const char* name, std::string text, std::string_view line) const {
    folder.write(name, text.append(line).append("\n"));
  }
};

TEST(Measurements, AreReadAsTheyAreWritten) {
  const MeasuredFolder files;
  const auto all = read_measurements(files.folder.path());
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[0].term, "t");
  EXPECT_EQ(all[0].setup, "H20 x16, 25.0 GB/s between nodes, 1.00 KiB");
  EXPECT_EQ(all[0].us, 9.5);
  EXPECT_EQ(all[0].source, "me");
  const auto& collective = std::get<MeasuredCollective>(all[0].what);
  EXPECT_EQ(collective.collective, Collective::kAllToAll);
  EXPECT_EQ(collective.network.links.in_node_gb_s, network_named("h100").links.in_node_gb_s);
  EXPECT_EQ(collective.network.links.between_nodes_gb_s, 25.0);
  EXPECT_EQ(collective.devices, 16);
  EXPECT_EQ(collective.bytes, 1024.0);
  const auto& fused = std::get<MeasuredOperator>(all[1].what);
  EXPECT_EQ(fused.gpu.name, gpu_named("h100").name);
  EXPECT_EQ(fused.pass, OperatorPass::kBackward);
  ASSERT_EQ(fused.tables.size(), 2U);
  EXPECT_EQ(fused.tables[1].rows, 1000);
  EXPECT_EQ(fused.tables[1].dim, 64);
  EXPECT_EQ(fused.tables[1].memory.optimizer, Optimizer::kAdam);
  EXPECT_EQ(fused.batch, 4096);
  const auto& iteration = std::get<MeasuredIteration>(all[2].what);
  EXPECT_EQ(iteration.task, "../m.json");
  EXPECT_EQ(iteration.devices, 8);
  EXPECT_EQ(iteration.batch, 512);
  EXPECT_EQ(all[3].term, "FBGEMM forward, adam, h100");
  EXPECT_EQ(all[3].us, 7.0);
  EXPECT_EQ(all[4].term, "FBGEMM backward, adam, h100");
  EXPECT_EQ(all[4].us, 9.0);
  EXPECT_EQ(all[4].setup, "few: 1 tables, batch 100");
  const auto& timed = std::get<MeasuredOperator>(all[4].what);
  EXPECT_EQ(timed.pass, OperatorPass::kBackward);
  EXPECT_EQ(timed.tables[0].memory.weight_type, WeightType::kFp16);
  EXPECT_EQ(timed.tables[0].pooling_factor, 3.0);
  EXPECT_DOUBLE_EQ(timed.tables[0].access_histogram[1], 1.0 / 3.0);
}

TEST(Measurements, BadCellsAreNamed) {
  const auto message = [](const MeasuredFolder& files) {
    return message_of([&] { (void)read_measurements(files.folder.path()); });
  };
  EXPECT_THAT(
      message(MeasuredFolder("t,all_to_al,H20,h100,25,16,1024,9.5,me")),
      HasSubstr("collectives.csv:2: collective: 'all_to_al' is none of all_to_all, all_reduce"));
  EXPECT_THAT(message(MeasuredFolder("t,all_to_all,H20,h20,25,16,1024,9.5,me")),
              HasSubstr("collectives.csv:2: network: no data for network 'h20'"));
  EXPECT_THAT(message(MeasuredFolder("t,all_to_all,H20,h100,25,16,1024,9.5,you")),
              HasSubstr("collectives.csv:2: source: sources.csv has no 'you'"));
  EXPECT_THAT(message(MeasuredFolder("t,all_to_all,H20,h100,25,16,1024,0,me")),
              HasSubstr("collectives.csv:2: measured_us: '0'"));
  const std::string good = "t,all_to_all,H20,h100,,16,1024,9.5,me";
  EXPECT_THAT(message(MeasuredFolder(good, "o,h100,backward,2,1000,64,3,17,adam,4096,7,me")),
              HasSubstr("operators.csv:2: zipf_exponent: "));
  EXPECT_THAT(message(MeasuredFolder(good, "o,h100,backward,2,1000,64,3,1,adamm,4096,7,me")),
              HasSubstr("operators.csv:2: optimizer: "));
  const std::string fine = "o,h100,forward,2,1000,64,3,1.05,sgd,4096,7,me";
  EXPECT_THAT(message(MeasuredFolder(good, fine, "i,v100,M,../m.json,8,512,5,me")),
              HasSubstr("iterations.csv:2: hardware: no data for hardware 'v100'"));
  const std::string run = "i,h100,M,../m.json,8,512,5,me";
  const auto with_fused = [&](std::string from, const std::string& to) {
    std::string text(kFused);
    text.replace(text.find(from), from.size(), to);
    return message(MeasuredFolder(good, fine, run, text));
  };
  EXPECT_THAT(with_fused("adam", "adamm"), HasSubstr("fused_operators.jsonl.gz:1: "));
  EXPECT_THAT(with_fused("h100", "h1"), HasSubstr("jsonl.gz:1: no data for GPU 'h1'"));
  EXPECT_THAT(with_fused("1000,", "0,"), HasSubstr("jsonl.gz:1: tables: "));
  EXPECT_THAT(with_fused("\"me\"", "\"you\""), HasSubstr("sources.csv has no 'you'"));
  EXPECT_THAT(with_fused("\"batch\"", "\"bath\""), HasSubstr("jsonl.gz:1: "));
}

}  // namespace
}  // namespace neuroshard::bench
