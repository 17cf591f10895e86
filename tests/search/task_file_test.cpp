#include "neuroshard/task_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "golden.h"
#include "message_of.h"
#include "neuroshard/table_configs.h"
#include "neuroshard/zipf_histogram.h"
#include "search/task_texts.h"

namespace neuroshard {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using ::testing::StartsWith;
using testing::task_error;
using testing::task_text_with;
using testing::task_with_table;

std::string bins(int count, const std::string& first, const std::string& other) {
  std::string text;
  for (int bin = 0; bin < count; ++bin) {
    text += ", \"bin_" + std::to_string(bin) + "\": " + (bin == 0 ? first : other);
  }
  return text;
}

/// A task file of three tables, two of one name, with these groups.
std::string task_with_groups(const std::string& groups) {
  return R"({"format": "neuroshard.task", "version": 1, "devices": 2, "memory_gb": 1,
    "groups": )" +
         groups + R"(, "tables": [
      {"name": "a", "row": 7, "dim": 4, "pooling_factor": 1},
      {"name": "b", "row": 7, "dim": 4, "pooling_factor": 1},
      {"name": "b", "row": 7, "dim": 4, "pooling_factor": 1}]})";
}

TEST(TaskFile, ReadsGroupsByNamesAndNumbers) {
  EXPECT_THAT(parse_task(task_text_with(""), "a.json").groups, IsEmpty());
  const TaskFile file = parse_task(task_with_groups(R"([
      {"name": "user", "keep": "together", "tables": ["a", 2]},
      {"tables": [1, 2, "a"], "keep": "apart"}])"),
                                   "a.json");
  const std::vector<TableGroup> groups = {
      {.name = "user", .tables = {0, 2}, .keep = Keep::kTogether},
      {.name = "", .tables = {1, 2, 0}, .keep = Keep::kApart}};
  EXPECT_EQ(file.groups, groups);
  EXPECT_EQ(task_of(file).groups, groups);
}

TEST(TaskFile, ErrorsInGroupsNameGroupAndRemedy) {
  const auto error = [](const std::string& groups) { return task_error(task_with_groups(groups)); };
  EXPECT_THAT(error("7"), HasSubstr("a.json: groups"));
  EXPECT_THAT(error(R"([7])"), StartsWith("a.json: groups: group 0: is 7; expected an object"));
  EXPECT_THAT(error(R"([{"name": "x", "tables": [0, 1]}])"),
              AllOf(HasSubstr("group 0 ('x')"), HasSubstr("keep")));
  EXPECT_THAT(error(R"([{"name": "x", "keep": "apert", "tables": [0, 1]}])"),
              HasSubstr("group 0 ('x'): keep: there is no way to keep tables 'apert'; did you mean "
                        "'apart'? use one of together, apart"));
  EXPECT_THAT(error(R"([{"keep": "apart", "tables": [0, "c"]}])"),
              HasSubstr("group 0: tables: there is no table 'c'; give the name of a table"));
  EXPECT_THAT(error(R"([{"keep": "apart", "tables": [0, "b"]}])"),
              HasSubstr("group 0: tables: several tables are called 'b'; give numbers"));
  EXPECT_THAT(error(R"([{"keep": "apart", "tables": [0, 3]}])"), HasSubstr("group 0: tables"));
  EXPECT_THAT(error(R"([{"keep": "apart", "tables": [0, 1], "apart": true}])"),
              HasSubstr("group 0: "));
  EXPECT_THAT(error(R"([{"keep": "apart"}])"), HasSubstr("tables"));
}

TEST(TaskFile, ReadsWhatDecidesMemory) {
  const TaskFile plain = parse_task(task_text_with(""), "a.json");
  EXPECT_EQ(plain.tables[0].memory, TableMemory{});
  EXPECT_EQ(plain.reserved, ReservedMemory{});
  const TaskFile task = parse_task(R"({
    "format": "neuroshard.task", "version": 1, "reserved_gb": 1.5, "reserved_share": 0.15,
    "weight_type": "bf16", "optimizer": "adam", "batch_size": 4096,
    "tables": [
      {"row": 7, "dim": 4, "pooling_factor": 1},
      {"row": 7, "dim": 4, "pooling_factor": 1, "weight_type": "int8"},
      {"row": 7, "dim": 4, "pooling_factor": 1, "optimizer": "rowwise_adagrad"}]})",
                                   "a.json");
  EXPECT_EQ(task.reserved, (ReservedMemory{3LL << 29, 0.15}));
  EXPECT_EQ(task.tables[0].memory, (TableMemory{WeightType::kBf16, Optimizer::kAdam, 4096}));
  EXPECT_EQ(task.tables[1].memory, (TableMemory{WeightType::kInt8, Optimizer::kAdam, 4096}));
  EXPECT_EQ(task.tables[2].memory,
            (TableMemory{WeightType::kBf16, Optimizer::kRowwiseAdagrad, 4096}));
}

TEST(TaskFile, ReadsRowShares) {
  const std::string good = R"({"row": 7, "dim": 4, "pooling_factor": 1)";
  const TaskFile task =
      parse_task(task_with_table(good + "}, " + good + R"(, "row_shares": [0.5, 0, 0.5]})"), "a");
  EXPECT_THAT(task.tables[0].row_shares, IsEmpty());
  EXPECT_THAT(task.tables[1].row_shares, ElementsAre(0.5, 0.0, 0.5));
  const auto error = [&](const std::string& shares) {
    return task_error(task_with_table(good + R"(, "name": "x", "row_shares": )" + shares + "}"));
  };
  EXPECT_THAT(error("[]"), StartsWith("a.json: table 0 ('x'): row_shares is empty; give"));
  EXPECT_THAT(error("1"), StartsWith("a.json: table 0 ('x'): row_shares is 1; give an array"));
  EXPECT_EQ(error("[0.5, -0.5]"),
            "a.json: table 0 ('x'): row_shares: number 1 is -0.5; give a number between 0.0 and "
            "1.0");
  EXPECT_THAT(error("[0.5, \"a\"]"), HasSubstr("row_shares: number 1 is \"a\"; give a number"));
  EXPECT_THAT(error("[0.5, 0.25]"),
              StartsWith("a.json: table 0 ('x'): row_shares add up to 0.750000; they are shares"));
}

TEST(TaskFile, ReadsReplicaGradients) {
  const std::string good = R"({"row": 7, "dim": 4, "pooling_factor": 1)";
  const TaskFile task =
      parse_task(task_with_table(good + "}, " + good + R"(, "replica_gradients": "touched"}, )" +
                                 good + R"(, "replica_gradients": "dense"})"),
                 "a");
  EXPECT_EQ(task.tables[0].replica_gradients, ReplicaGradients::kDense);
  EXPECT_EQ(task.tables[1].replica_gradients, ReplicaGradients::kTouched);
  EXPECT_EQ(task.tables[2].replica_gradients, ReplicaGradients::kDense);
  EXPECT_THAT(
      task_error(task_with_table(good + R"(, "replica_gradients": "touchd"})")),
      StartsWith("a.json: table 0: replica_gradients: there is no kind of replica gradients "
                 "'touchd'; did you mean 'touched'?"));
}

TEST(TaskFile, ErrorsOfMemoryNameTableFieldAndRemedy) {
  const std::string good = R"("row": 100, "dim": 16, "pooling_factor": 1.5)";
  EXPECT_EQ(task_error(task_with_table("{" + good + R"(, "name": "x", "weight_type": "fp12"})")),
            "a.json: table 0 ('x'): weight_type: there is no weight type 'fp12'; did you mean "
            "'fp32'? use one of fp32, fp16, bf16, int8");
  EXPECT_THAT(task_error(task_with_table("{" + good + R"(, "optimizer": "adamw"})")),
              StartsWith("a.json: table 0: optimizer: there is no optimizer 'adamw'; did you mean "
                         "'adam'? use one of sgd, "));
  EXPECT_THAT(task_error(task_with_table("{" + good + R"(, "optimiser": "adam"})")),
              HasSubstr("unknown field 'optimiser'; did you mean 'optimizer'?"));
  EXPECT_THAT(task_error(task_text_with(R"("optimizer": 3, )")),
              StartsWith("a.json: optimizer is 3; give a text in quotes"));
  EXPECT_THAT(
      task_error(task_text_with(R"("batch_size": 0, )")),
      StartsWith(
          "a.json: batch_size is 0; give the samples of an iteration; costs can be predicted "
          "for 1,024 to 4,194,304"));
  EXPECT_THAT(task_error(task_text_with(R"("batch_size": 1e300, )")),
              StartsWith("a.json: batch_size is 1e+300; give the samples of an iteration; costs"));
  EXPECT_THAT(task_error(task_text_with(R"("source": 5, )")),
              StartsWith("a.json: source is 5; give a text in quotes, or an array of texts"));
  EXPECT_THAT(task_error(task_text_with(R"("reserved_gb": -1, )")),
              StartsWith("a.json: reserved_gb is -1; give a number between 0.0 and"));
  EXPECT_THAT(task_error(task_text_with(R"("reserved_share": 15, )")),
              StartsWith("a.json: reserved_share is 15; give a number of at least 0 and less than "
                         "1, e.g. 0.15"));
}

TEST(TaskFile, ReadsEveryField) {
  const std::string json = R"({
    "format": "neuroshard.task", "version": 1, "name": "toy", "source": ["here", "there"],
    "notes": "none", "devices": 8, "memory_gb": 1.5, "zipf_exponent": 1.2,
    "tables": [
      {"name": "user", "row": 40000000, "dim": 128, "pooling_factor": 3},
      {"row": 7, "dim": 4, "pooling_factor": 0.25, "zipf_exponent": 0},
      {"row": 9, "dim": 8, "pooling_factor": 2)" +
                           bins(17, "1", "0") + "}]}";
  const TaskFile task = parse_task(json, "a.json");
  EXPECT_EQ(task.name, "toy");
  EXPECT_THAT(task.source, ElementsAre("here", "there"));
  EXPECT_EQ(task.notes, "none");
  EXPECT_EQ(task.devices, 8);
  EXPECT_EQ(task.memory_bytes, 3LL << 29);
  ASSERT_EQ(task.tables.size(), 3U);
  EXPECT_EQ(task.tables[0].name, "user");
  EXPECT_EQ(task.tables[0].rows, 40'000'000);
  EXPECT_EQ(task.tables[0].dim, 128);
  EXPECT_EQ(task.tables[0].pooling_factor, 3.0);
  EXPECT_EQ(task.tables[0].access_histogram, zipf_histogram(40'000'000, 3.0, 1.2));
  EXPECT_EQ(task.tables[1].access_histogram, zipf_histogram(7, 0.25, 0.0));
  EXPECT_EQ(task.tables[2].access_histogram[0], 1.0);
  EXPECT_THAT(task.derived_histograms, ElementsAre(0, 1));
}

TEST(TaskFile, LeavesOpenWhatTheFileDoesNotSay) {
  const TaskFile task = parse_task(task_text_with(""), "a.json");
  EXPECT_FALSE(task.devices.has_value());
  EXPECT_FALSE(task.memory_bytes.has_value());
  EXPECT_EQ(task.tables[0].access_histogram, zipf_histogram(100, 1.5, 1.05));
}

TEST(TaskFile, ErrorsNameFileTableAndField) {
  EXPECT_EQ(
      task_error(task_with_table(R"({"name": "user", "row": 5, "dim": 30, "pooling_factor": 1})")),
      "a.json: table 0 ('user'): dim 30 is not a multiple of 4; use 28 or 32");
  EXPECT_THAT(task_error(task_with_table(R"({"row": -5, "dim": 8, "pooling_factor": 1})")),
              AllOf(StartsWith("a.json: table 0: row is -5; give an integer between 1")));
  EXPECT_THAT(task_error(task_with_table(R"({"row": 1.5, "dim": 8, "pooling_factor": 1})")),
              StartsWith("a.json: table 0: row is 1.5; give an integer"));
  EXPECT_THAT(task_error(task_with_table(R"({"row": "7", "dim": 8, "pooling_factor": 1})")),
              StartsWith("a.json: table 0: row is \"7\"; give an integer"));
  EXPECT_THAT(task_error(task_with_table(R"({"row": 7, "pooling_factor": 1})")),
              "a.json: table 0: the field 'dim' is missing; add it");
  EXPECT_THAT(task_error(task_with_table(R"({"row": 7, "dim": 8, "pooling_factor": null})")),
              StartsWith("a.json: table 0: pooling_factor is null; give a number between 0"));
  EXPECT_THAT(task_error(task_with_table(R"({"row": 7, "dim": 8, "pooling_factor": -0.5})")),
              StartsWith("a.json: table 0: pooling_factor is -0.5; give a number between 0"));
  EXPECT_THAT(task_error(task_with_table(R"({"row": 7, "dim": 0, "pooling_factor": 1})")),
              StartsWith("a.json: table 0: dim is 0; give an integer between 4 and 65536"));
  EXPECT_THAT(task_error(task_with_table(R"({"row": 7, "dim": 8, "pooling": 1})")),
              HasSubstr("'pooling_factor' is missing"));
  EXPECT_THAT(
      task_error(task_with_table(R"({"row": 7, "dim": 8, "pooling_factor": 1, "rows": 7})")),
      StartsWith("a.json: table 0: unknown field 'rows'; did you mean 'row'? remove it, or use one "
                 "of: bin_0"));
  EXPECT_EQ(task_error(task_with_table(R"({"rows": 7, "dim": 8, "pooling_factor": 1})")),
            "a.json: table 0: the field 'row' is missing; did you mean it by 'rows'? rename that, "
            "or add it");
  EXPECT_EQ(task_error(task_with_table(R"({"row": 7, "dim": 8, "pooling_factor": 1e400})")),
            "a.json: tables: entry 0: pooling_factor: the number 1e400 needs more than 64 bits; "
            "give a smaller one");
  EXPECT_THAT(task_error(task_with_table("3")), "a.json: table 0: is 3; expected an object, {...}");
}

TEST(TaskFile, RejectsHalfAHistogramAndOneThatDoesNotAddUp) {
  const auto table = [](const std::string& more) {
    return task_with_table(R"({"row": 7, "dim": 8, "pooling_factor": 1)" + more + "}");
  };
  EXPECT_THAT(task_error(table(bins(16, "1", "0"))), HasSubstr("'bin_16' is missing"));
  EXPECT_THAT(task_error(table(bins(17, "0.5", "0"))), HasSubstr("add up to 0.5"));
  EXPECT_THAT(task_error(table(bins(17, "1.5", "0"))), HasSubstr("bin_0 is 1.5"));
  EXPECT_THAT(task_error(table(bins(17, "1", "0") + ", \"zipf_exponent\": 1")),
              HasSubstr("keep one"));
  EXPECT_EQ(parse_task(table(bins(17, "0", "0")), "a.json").derived_histograms.size(), 0U);
}

TEST(TaskFile, SaysWhichHistogramsCannotBe) {
  const auto note = [](const std::string& rows, const std::string& pooling_factor,
                       const std::string& histogram) {
    const std::string table = R"({"name": "t", "row": )" + rows +
                              R"(, "dim": 8, "pooling_factor": )" + pooling_factor + histogram +
                              "}";
    return doubtful_histograms_note(
        parse_task(task_with_table(table + ", " + table), "a.json").tables);
  };
  EXPECT_EQ(note("1000", "100", bins(17, "1", "0")),
            "table 0 ('t'): 65,536 samples look up 6,553,600 times in 1,000 rows, but by bin_0 to "
            "bin_16 a row is touched 1.0 times at most; costs are doubtful: measure the access "
            "histogram again, or leave it out; the same holds for 1 other table");
  EXPECT_THAT(note("1000", "1", bins(17, "0", "0")),
              StartsWith("table 0 ('t'): bin_0 to bin_16 are all 0, as of a table that is never "
                         "looked up, but pooling_factor is 1; "));
  EXPECT_EQ(note("1000", "0", bins(17, "0", "0")), "");
  EXPECT_EQ(note("10000000", "100", bins(17, "1", "0")), "");
  EXPECT_EQ(note("10", "100", ""), "");  // Derived.
  // Histograms of the published system are taken as they are.
  EXPECT_EQ(doubtful_histograms_note(
                load_table_configs(testing::golden_path("tables/table_configs.json")).tables),
            "");
}

TEST(TaskFile, RejectsBadFields) {
  EXPECT_THAT(task_error(task_text_with(R"("devices": 0, )")), HasSubstr("devices is 0; give"));
  EXPECT_THAT(task_error(task_text_with(R"("devices": 20000, )")),
              HasSubstr("between 1 and 16384"));
  EXPECT_THAT(task_error(task_text_with(R"("memory_gb": -4, )")), HasSubstr("a.json: memory_gb: "));
  EXPECT_THAT(task_error(task_text_with(R"("memory_gb": "4", )")), HasSubstr("memory_gb is \"4\""));
  EXPECT_THAT(task_error(task_text_with(R"("memory": 4, )")), HasSubstr("unknown field 'memory'"));
  EXPECT_THAT(task_error(task_text_with(R"("source": [1], )")), HasSubstr("source"));
  EXPECT_THAT(task_error(task_text_with(R"("zipf_exponent": -1, )")),
              HasSubstr("zipf_exponent is -1"));
  EXPECT_THAT(task_error(R"({"format": "neuroshard.task", "version": 1, "tables": []})"),
              "a.json: tables: is empty; give at least one table");
  EXPECT_THAT(task_error(R"({"format": "neuroshard.plan", "version": 1, "tables": []})"),
              "a.json: format is 'neuroshard.plan'; expected 'neuroshard.task'");
  EXPECT_THAT(task_error(R"({"format": "neuroshard.task", "version": 2, "tables": []})"),
              HasSubstr("version is 2; this program reads up to version 1"));
  EXPECT_THAT(
      task_error(R"({"tables": []})"),
      HasSubstr("'format' is missing; add \"format\": \"neuroshard.task\" and \"version\": 1"));
}

TEST(TaskFile, RejectsWhatIsNotStrictJson) {
  const std::string good = task_text_with("");
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_THAT(task_error(good.substr(0, length)), StartsWith("a.json: is not valid JSON: "));
  }
  EXPECT_THAT(task_error(good + "x"), HasSubstr("not valid JSON"));
  EXPECT_THAT(task_error("\x1f\x8b\b"), HasSubstr("compressed with gzip, not JSON; decompress it"));
  EXPECT_THAT(task_error(task_text_with(R"("devices": NaN, )")), HasSubstr("not valid JSON"));
  EXPECT_THAT(task_error(task_text_with(R"("memory_gb": 1e999, )")),
              HasSubstr("memory_gb: the number 1e999 needs more than 64 bits; give a smaller one"));
  EXPECT_THAT(task_error(task_text_with(R"("devices": 4, "devices": 8, )")),
              "a.json: the field 'devices' occurs twice in one object; keep one");
  EXPECT_THAT(task_error(std::string(100'000, '[')), HasSubstr("nested more than 32"));
  EXPECT_THAT(task_error("\xff\xfe"), HasSubstr("not valid JSON"));
}

TEST(TaskFile, SurvivesChangedBytes) {
  const std::string good = task_text_with(R"("name": "toy", "devices": 4, "memory_gb": 2.5, )");
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const char byte : {'\0', '"', '{', '9', '-', ',', '\x80'}) {
      std::string bad = good;
      bad[i] = byte;
      try {
        (void)parse_task(bad, "a.json");
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), StartsWith("a.json: "));
      }
    }
  }
}

TEST(TaskFile, SaysWhichFileCannotBeRead) {
  EXPECT_EQ(message_of([] { (void)load_task("no/such/task.json"); }, ErrorKind::kIo),
            "no/such/task.json: cannot be read: No such file or directory");
  EXPECT_EQ(message_of([] { (void)load_task(NEUROSHARD_TEST_DATA); }, ErrorKind::kIo),
            NEUROSHARD_TEST_DATA ": cannot be read: Is a directory");
}

}  // namespace
}  // namespace neuroshard
