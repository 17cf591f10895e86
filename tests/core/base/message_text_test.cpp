#include "core/base/message_text.h"

#include <gtest/gtest.h>

#include "neuroshard/error.h"

namespace neuroshard {
namespace {

TEST(MessageText, PrintableShowsWhatWouldSteerATerminal) {
  EXPECT_EQ(printable("a\x1b[31mred\x07"), "a\\x1b[31mred\\x07");
  EXPECT_EQ(printable("one\ntwo\r\n\tthree"), "one\\ntwo\\r\\n\\tthree");
  EXPECT_EQ(printable(std::string_view("nul\0", 4)), "nul\\x00");
  EXPECT_EQ(printable("\x7f"), "\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\u009b31m");  // CSI as one C1 character.
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "txt.exe"),
            "\\u202etxt.exe");  // Turns what follows round.
  EXPECT_EQ(printable("\xe2\x80\xa8"), "\\u2028");
}

TEST(MessageText, PrintableKeepsTextOfEveryLanguage) {
  for (const std::string_view text : {"", "plain ascii ~", "C:\\new\\table", "Größe", "表 1",
                                      "таблица", "\xf0\x9f\x93\xa6 box"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(MessageText, PrintableShowsBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(printable("\xc3"), "\\xc3");                    // Cut off.
  EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b");           // Overlong.
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // A surrogate.
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(MessageText, PrintableTwiceIsAsOnce) {
  const std::string once = printable("a\nb\x1b\xff\\");
  EXPECT_EQ(printable(once), once);
}

TEST(MessageText, ErrorsAreOnePrintableLine) {
  EXPECT_STREQ(Error("file\x1b]0;title\x07: bad\nforged: line").what(),
               "file\\x1b]0;title\\x07: bad\\nforged: line");
}

TEST(MessageText, BytesHaveTheUnitThatFits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(17), "17 B");
  EXPECT_EQ(format_bytes(1000), "1000 B");
  EXPECT_EQ(format_bytes(12 * 1024), "12.0 KiB");
  EXPECT_EQ(format_bytes(std::int64_t{640} << 20), "640 MiB");
  EXPECT_EQ(format_bytes(std::int64_t{1} << 30), "1.00 GiB");
  EXPECT_EQ(format_bytes(std::int64_t{52} << 30), "52.0 GiB");
  EXPECT_EQ(format_bytes(INT64_MAX), "8192 PiB");
}

TEST(MessageText, CountsHaveSeparators) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1234567), "1,234,567");
  EXPECT_EQ(counted(1, "device"), "1 device");
  EXPECT_EQ(counted(1022, "device"), "1,022 devices");
}

}  // namespace
}  // namespace neuroshard
