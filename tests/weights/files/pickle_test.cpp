#include "weights/files/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "message_of.h"
#include "weights/files/torch_writer.h"

namespace neuroshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;
using testing::PickleWriter;
using ::testing::StartsWith;

std::string pickle_error(const std::string& bytes) {
  return message_of([&] { (void)pickle::parse(bytes, "m.pt"); });
}

std::string pickle_error(const PickleWriter& writer) { return pickle_error(writer.finish()); }

TEST(Pickle, ReadsPlainValues) {
  const std::string bytes = PickleWriter()
                                .raw("(")
                                .integer(5)
                                .integer(70'000)
                                .integer(-3)
                                .integer(1LL << 40)
                                .raw("\x8a")
                                .raw(std::string(1, '\0'))  // LONG1 of no bytes: 0
                                .raw("\x8a\x01\xff")        // LONG1 of one byte: -1
                                .text("abc")
                                .raw("N\x88\x89")
                                .raw(std::string_view("G\x3f\xf8\0\0\0\0\0\0", 9))  // 1.5
                                .raw("t")
                                .finish();
  const pickle::Pickle pickle = pickle::parse(bytes, "m.pt");
  const auto* tuple = pickle.get_if<pickle::Tuple>(pickle.root);
  ASSERT_NE(tuple, nullptr);
  ASSERT_EQ(tuple->items.size(), 11U);
  const auto integer = [&](std::size_t i) { return *pickle.get_if<std::int64_t>(tuple->items[i]); };
  EXPECT_EQ(integer(0), 5);
  EXPECT_EQ(integer(1), 70'000);
  EXPECT_EQ(integer(2), -3);
  EXPECT_EQ(integer(3), 1LL << 40);
  EXPECT_EQ(integer(4), 0);
  EXPECT_EQ(integer(5), -1);
  EXPECT_EQ(*pickle.get_if<std::string>(tuple->items[6]), "abc");
  EXPECT_NE(pickle.get_if<pickle::None>(tuple->items[7]), nullptr);
  EXPECT_TRUE(*pickle.get_if<bool>(tuple->items[8]));
  EXPECT_FALSE(*pickle.get_if<bool>(tuple->items[9]));
  EXPECT_EQ(*pickle.get_if<double>(tuple->items[10]), 1.5);
}

TEST(Pickle, ReadsTensors) {
  const std::string bytes =
      PickleWriter().tensor("DoubleStorage", "7", 12, 2, {2, 3}, {1, 2}).finish();
  const pickle::Pickle pickle = pickle::parse(bytes, "m.pt");
  const auto* view = pickle.get_if<pickle::TensorView>(pickle.root);
  ASSERT_NE(view, nullptr);
  EXPECT_EQ(view->offset, 2);
  EXPECT_THAT(view->shape, ElementsAre(2, 3));
  EXPECT_THAT(view->strides, ElementsAre(1, 2));
  const auto* storage = pickle.get_if<pickle::Storage>(view->storage);
  ASSERT_NE(storage, nullptr);
  EXPECT_EQ(storage->type, pickle::ElementType::kFloat64);
  EXPECT_EQ(storage->key, "7");
  EXPECT_EQ(storage->elements, 12);
}

TEST(Pickle, ExecutesNothing) {
  EXPECT_EQ(pickle_error(PickleWriter().global("os", "system").raw("(").text("ls").raw("tR")),
            "m.pt: pickle, byte 2: asks for 'os.system'; only tensors of floats or integers in "
            "dicts and tuples are read, and nothing is executed");
  EXPECT_THAT(pickle_error(PickleWriter(4).global("builtins", "eval")),
              HasSubstr("asks for 'builtins.eval'"));
  EXPECT_THAT(pickle_error(PickleWriter().global("torch", "HalfStorage")),
              HasSubstr("asks for 'torch.HalfStorage'"));
  EXPECT_THAT(pickle_error(PickleWriter().global("a\x01\xff", "b")), HasSubstr("'a\\x01\\xff.b'"));
  EXPECT_THAT(pickle_error(PickleWriter().global("torch", "FloatStorage").raw(")R")),
              HasSubstr("calls something that is not a constructor"));
  EXPECT_THAT(pickle_error(PickleWriter().text("os").raw(")R")),
              HasSubstr("calls something that is not known"));
  EXPECT_THAT(pickle_error(PickleWriter().empty_ordered_dict().integer(1).raw("b")),
              HasSubstr("sets the state of something that is not a dict"));
}

TEST(Pickle, KnowsNoOtherOpcodes) {
  const std::string known = "NJKMGXc(0)t]ae}squrhjQRb.";
  std::set<unsigned> allowed(known.begin(), known.end());
  for (const unsigned op :
       {0x80U, 0x85U, 0x86U, 0x87U, 0x88U, 0x89U, 0x8aU, 0x8cU, 0x8dU, 0x93U, 0x94U, 0x95U}) {
    allowed.insert(op);
  }
  for (unsigned op = 0; op < 256; ++op) {
    const std::string bytes = std::string("\x80\x02") + static_cast<char>(op);
    const std::string error = pickle_error(bytes + std::string(16, '\0'));
    EXPECT_EQ(error.find("has no place in a file of tensors") != std::string::npos &&
                  error.find("byte 2") != std::string::npos,
              !allowed.contains(op))
        << op << ": " << error;
  }
}

TEST(Pickle, RejectsABadStack) {
  EXPECT_THAT(pickle_error(PickleWriter()), HasSubstr("a value is missing from the stack"));
  EXPECT_THAT(pickle_error(PickleWriter().integer(1).raw("\x86")), HasSubstr("a value is missing"));
  EXPECT_THAT(pickle_error(PickleWriter().integer(1).raw("(0")), HasSubstr("a value is missing"));
  EXPECT_THAT(pickle_error(PickleWriter().integer(1).raw("t")), HasSubstr("a mark is missing"));
  EXPECT_THAT(pickle_error(PickleWriter().integer(1).integer(2)), HasSubstr("left over"));
  EXPECT_THAT(pickle_error(PickleWriter().integer(1).raw("(")), HasSubstr("a value is missing"));
  EXPECT_THAT(pickle_error(PickleWriter().integer(1).raw("h\x05")),
              HasSubstr("refers to memo 5, which is not set"));
  EXPECT_THAT(pickle_error(PickleWriter().integer(1).integer(2).raw("a")),
              HasSubstr("appends to something that is not a list"));
  EXPECT_THAT(pickle_error(PickleWriter().raw("](").integer(2).integer(3).raw("u")),
              HasSubstr("sets items of something that is not a dict"));
  EXPECT_THAT(pickle_error(PickleWriter().raw("}(").integer(2).raw("u")),
              HasSubstr("a key has no value"));
  EXPECT_THAT(pickle_error(PickleWriter().integer(1).integer(2).raw("\x93")),
              HasSubstr("a global's name is not a text"));
}

TEST(Pickle, RejectsBadTensors) {
  EXPECT_THAT(pickle_error(PickleWriter().integer(1).raw("Q")), HasSubstr("five values"));
  EXPECT_THAT(pickle_error(PickleWriter().tuple({1, 2, 3, 4, 5}).raw("Q")),
              HasSubstr("wrong types"));
  EXPECT_THAT(pickle_error(PickleWriter().storage("FloatStorage", "0", -1)),
              HasSubstr("the size of a storage is not a count"));
  EXPECT_THAT(pickle_error(PickleWriter().storage("FloatStorage", std::string(65, 'k'), 1)),
              HasSubstr("longer than 64 characters"));
  EXPECT_THAT(pickle_error(PickleWriter().tensor("FloatStorage", "0", 4, -2, {2}, {1})),
              HasSubstr("the offset of a tensor is not a count"));
  EXPECT_THAT(pickle_error(PickleWriter().tensor("FloatStorage", "0", 4, 0, {-2}, {1})),
              HasSubstr("the shape of a tensor is not a count"));
  EXPECT_THAT(pickle_error(PickleWriter().tensor("FloatStorage", "0", 4, 0, {2}, {-1})),
              HasSubstr("the strides of a tensor is not a count"));
  EXPECT_THAT(pickle_error(PickleWriter().tensor("FloatStorage", "0", 4, 0,
                                                 std::vector<std::int64_t>(9, 1), {1})),
              HasSubstr("at most 8 counts"));
  EXPECT_THAT(pickle_error(PickleWriter().global("torch._utils", "_rebuild_tensor_v2").raw(")R")),
              HasSubstr("not described by six values"));
}

TEST(Pickle, RejectsWhatIsCutShort) {
  const std::string bytes = PickleWriter()
                                .raw("}")
                                .text("x")
                                .tensor("FloatStorage", "0", 4, 0, {4}, {1})
                                .raw("s")
                                .finish();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THAT(pickle_error(bytes.substr(0, length)), HasSubstr("the pickle is cut short"));
  }
  EXPECT_THAT(pickle_error(PickleWriter().raw("X\xff\xff\xff\xff")), HasSubstr("cut short"));
  EXPECT_THAT(pickle_error(PickleWriter().raw("\x8d\xff\xff\xff\xff\xff\xff\xff\xff")),
              HasSubstr("cut short"));
  EXPECT_THAT(pickle_error(PickleWriter().raw("\x8a\xff")), HasSubstr("more than 64 bits"));
  EXPECT_THAT(pickle_error(std::string("\x80\x09.", 3)), HasSubstr("protocol newer than 5"));
}

TEST(Pickle, SurvivesCyclesAndDepth) {
  // A dict that is its own value, and a list that is its own element.
  (void)pickle::parse(PickleWriter()
                          .raw("}q")
                          .raw(std::string(1, '\0'))
                          .text("x")
                          .raw(std::string("h\0s", 3))
                          .finish(),
                      "m.pt");
  (void)pickle::parse(PickleWriter().raw(std::string("]q\0h\0a", 6)).finish(), "m.pt");
  // As deep as a file may be long.
  const std::string depth(pickle::kMaxPickleBytes - 8, '\x85');
  (void)pickle::parse(PickleWriter().raw(")").raw(depth).finish(), "m.pt");
  EXPECT_THAT(pickle_error(PickleWriter().raw(std::string(1'000'000, '('))),
              HasSubstr("a value is missing"));
  EXPECT_THAT(pickle_error(PickleWriter().raw(std::string(2'000'000, 'N'))),
              HasSubstr("more than 1 MiB"));
}

TEST(Pickle, SurvivesAnyChangedByte) {
  const std::string good = PickleWriter()
                               .raw("}(")
                               .text("state")
                               .empty_ordered_dict()
                               .raw("(")
                               .text("w")
                               .tensor("FloatStorage", "0", 12, 0, {3, 4}, {4, 1})
                               .raw("u")
                               .text("list")
                               .raw("](")
                               .integer(300)
                               .raw("eu")
                               .finish();
  (void)pickle::parse(good, "m.pt");
  for (std::size_t i = 0; i < good.size(); ++i) {
    // With sanitizers each value at some places: the fuzzers go on from there.
    for (int byte = NEUROSHARD_SANITIZED ? static_cast<int>(i % 8) : 0; byte < 256;
         byte += NEUROSHARD_SANITIZED ? 8 : 1) {
      std::string bad = good;
      bad[i] = static_cast<char>(byte);
      try {
        (void)pickle::parse(bad, "m.pt");
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), StartsWith("m.pt: pickle, byte "));
      }
    }
  }
}

}  // namespace
}  // namespace neuroshard
