// Pages are easy to read, as far as that can be measured, and comments begin as sentences do.
#include "docs/prose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "docs/comments.h"
#include "docs/page.h"
#include "temporary_folder.h"

namespace neuroshard::docs {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kSource = NEUROSHARD_SOURCE;

std::vector<std::string> texts(const std::vector<Passage>& passages) {
  std::vector<std::string> texts;
  for (const Passage& passage : passages) texts.push_back(passage.text);
  return texts;
}

std::vector<std::string> sentences(const std::string& text) {
  return texts(sentences_of({1, text}));
}

std::string words(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += i == 0 ? "A" : " word";
  return text;
}

TEST(Sentences, EndAtPoints) {
  EXPECT_THAT(sentences("One fact. Another one! A third?\nA fourth"),
              ElementsAre("One fact.", "Another one!", "A third?", "A fourth"));
  EXPECT_THAT(sentences("It is *so.* (Or not.) It is."),
              ElementsAre("It is *so.*", "(Or not.)", "It is."));
}

TEST(Sentences, GoOnAfterDecimalsAbbreviationsAndInitials) {
  EXPECT_THAT(sentences("It is 2.5 times as fast. It has 3."),
              ElementsAre("It is 2.5 times as fast.", "It has 3."));
  EXPECT_THAT(sentences("Some tables, e.g. wide ones, and rows etc. are cut."),
              ElementsAre("Some tables, e.g. wide ones, and rows etc. are cut."));
  EXPECT_THAT(sentences("N. Laird et al. found it."), ElementsAre("N. Laird et al. found it."));
  EXPECT_THAT(sentences("Bags, rows, etc. Then more."),
              ElementsAre("Bags, rows, etc.", "Then more."));
}

TEST(Sentences, MayBeginWithCodeOrASmallLetter) {
  EXPECT_THAT(sentences("It is read. `a.b. c` is not. neuroshard plans."),
              ElementsAre("It is read.", "`a.b._c` is not.", "neuroshard plans."));
}

TEST(Sentences, KnowTheirLines) {
  const auto found = sentences_of({7, "One [link](a.md)\nhere. The `code\nof` two\nlines. Last."});
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].line, 7);
  EXPECT_EQ(found[1].line, 8);
  EXPECT_EQ(found[2].text, "Last.");
}

TEST(Words, CountLinksByTheirTextAndCodeOnce) {
  EXPECT_EQ(words_in("See [the page](https://example.org/a b) for `plan --task x` - now."), 6);
  EXPECT_EQ(words_in("*Two* words"), 2);
  EXPECT_EQ(words_in("<img src=\"a b.svg\"> one"), 1);
  EXPECT_EQ(words_in("| : -"), 0);
}

TEST(Openings, AreForbiddenAsWords) {
  for (const char* text :
       {"Of rows", "What it is", "*Those* of", "The same", "\"Likewise, x", "What?"}) {
    EXPECT_TRUE(begins_badly(text)) << text;
  }
  for (const char* text : {"Off", "The samest", "These", "Thosewhat", "of rows", "Whatever", "A",
                           "`Of`", "Offices", ""}) {
    EXPECT_FALSE(begins_badly(text)) << text;
  }
}

TEST(Pages, HaveParts) {
  const Page page = parse_page(
      "# Memory\n\nOne line\nand another.\n* An item\n  goes on.\n1. First.\n\n"
      "| a | b \\| c |\n|---|---:|\n| `x` | |\n\n![a picture](a.svg)\n"
      "<!-- a comment. Of two\nlines. -->\n> A quote.\n");
  EXPECT_THAT(texts(page.headings), ElementsAre("Memory"));
  EXPECT_THAT(texts(page.paragraphs),
              ElementsAre("One line\nand another.", "An item\ngoes on.", "First.", "A quote."));
  EXPECT_THAT(texts(page.cells), ElementsAre("a", "b | c", "`x`"));
  EXPECT_EQ(page.paragraphs[1].line, 5);
  EXPECT_EQ(page.lines.size(), 16U);
}

TEST(Pages, HaveBlocks) {
  const Page page = parse_page(
      "Text.\n```sh\nneuroshard plan\n\n  more\n```\n"
      "<!-- not run: needs a GPU -->\n```python\npass\n```\n"
      "<!-- not run: -->\n\n```\nshown\n```\n"
      "<!-- run first: sh\ncp a b\n-->\n"
      "* Item:\n  ```json\n  {\n    1}\n  ```\n");
  ASSERT_EQ(page.blocks.size(), 5U);
  EXPECT_EQ(page.blocks[0].language, "sh");
  EXPECT_EQ(page.blocks[0].text, "neuroshard plan\n\n  more\n");
  EXPECT_EQ(page.blocks[0].line, 3);
  EXPECT_FALSE(page.blocks[0].not_run);
  EXPECT_EQ(page.blocks[1].not_run, "needs a GPU");
  EXPECT_EQ(page.blocks[2].not_run, "");
  EXPECT_EQ(page.blocks[2].language, "");
  EXPECT_TRUE(page.blocks[3].hidden);
  EXPECT_EQ(page.blocks[3].language, "sh");
  EXPECT_EQ(page.blocks[3].text, "cp a b\n");
  EXPECT_EQ(page.blocks[3].line, 17);
  EXPECT_EQ(page.blocks[4].text, "{\n  1}\n");
}

TEST(Pages, AreMeasured) {
  const auto found = [](const std::string& text, std::string_view name = "page.md") {
    return findings_in(parse_page(text), name);
  };
  EXPECT_THAT(found("A short sentence.\n"), IsEmpty());
  EXPECT_THAT(found("Short.\n\n" + words(41) + ".\n"),
              ::testing::Contains(
                  AllOf(Field(&Finding::line, 3),
                        Field(&Finding::what, HasSubstr("sentence of 41 words, limit 40")))));
  EXPECT_THAT(found(words(15) + ".\n" + words(15) + ".\n"), IsEmpty());
  EXPECT_THAT(
      found(words(15) + ".\n" + words(16) + ".\n"),
      ElementsAre(Field(&Finding::what, HasSubstr("mean sentence of 15.5 words, limit 15"))));
  EXPECT_THAT(found("|" + words(30) + "|" + words(31) + "|\n"),
              ElementsAre(Field(&Finding::what, HasSubstr("cell of 31 words, limit 30"))));
  EXPECT_THAT(found("Fine. Of rows.\n# What is\n"),
              ElementsAre(AllOf(Field(&Finding::line, 1), Field(&Finding::text, "Of rows.")),
                          AllOf(Field(&Finding::line, 2), Field(&Finding::text, "What is"))));
  EXPECT_THAT(found(std::string(120, 'x') + "\n| " + std::string(200, 'x') + " |\n```\n" +
                    std::string(200, 'x') + "\n```\n"),
              IsEmpty());
  EXPECT_THAT(found(std::string(121, 'x') + "\n"),
              ElementsAre(Field(&Finding::what, "line of more than 120 characters")));
  const std::string umlauts = "äöüäöüäöüä";
  std::string line;
  for (int i = 0; i < 12; ++i) line += umlauts;
  EXPECT_THAT(found(line + "\n"), IsEmpty());
  const std::string lines(301, '\n');
  EXPECT_THAT(found(lines), ElementsAre(Field(&Finding::what, "301 lines, limit 300")));
  EXPECT_THAT(found(lines, "docs/task_format.md"), IsEmpty());
  EXPECT_THAT(found("<!-- run first: sh\ntrue\n-->\n" + std::string(300, '\n')), IsEmpty());
}

TEST(Comments, AreFoundInSources) {
  const auto found = comments_of(
      "// One\n// comment.\n\n//\n/// Another.\nint a;  ///< After code\n        ///< in a "
      "column.\n"
      "const char* b = \"// no comment\"; char c = '\"'; int d = 1'000;  // Real.\n"
      "auto e = R\"x(\n// no comment\n)x\";\n/* Block\n * of lines. */ int f;  // End\n",
      CommentStyle::kSlashes);
  EXPECT_THAT(texts(found), ElementsAre("One\ncomment.", "Another.", "After code\nin a column.",
                                        "Real.", "Block\n * of lines. ", "End"));
  EXPECT_EQ(found[1].line, 5);
  EXPECT_EQ(found[5].line, 13);
}

TEST(Comments, AreFoundInScripts) {
  const auto found = comments_of(
      "#!/usr/bin/env bash\n# Stops.\necho \"# no\" '# no' ${#a} $#  # Yes.\nsize=\"\"\"\n# "
      "no\n\"\"\"\n# It's\n# one.\n#\n# Two.\n",
      CommentStyle::kHash);
  EXPECT_THAT(texts(found), ElementsAre("usr/bin/env bash\nStops.", "Yes.", "It's\none.", "Two."));
}

TEST(Comments, AreMarkedByTheKindOfFile) {
  EXPECT_EQ(comment_style("core/a.cuh", ""), CommentStyle::kSlashes);
  EXPECT_EQ(comment_style("CMakeLists.txt", ""), CommentStyle::kHash);
  EXPECT_EQ(comment_style("tools/run_tests", "#!/bin/sh\n"), CommentStyle::kHash);
  EXPECT_EQ(comment_style("docs/a.md", "# A"), CommentStyle::kNone);
  EXPECT_EQ(comment_style("LICENSE", "Of all"), CommentStyle::kNone);
}

TEST(EveryPage, IsEasyToRead) {
  const auto pages = pages_of(kSource);
  ASSERT_GE(pages.size(), 30U) << "the test looks at little";
  for (const std::string& name : pages) {
    const Page page = parse_page(contents_of(std::string(kSource) + '/' + name));
    for (const Finding& finding : findings_in(page, name)) {
      ADD_FAILURE() << name << ':' << finding.line << ": " << finding.what << '\n' << finding.text;
    }
  }
}

TEST(EveryComment, BeginsAsASentence) {
  int comments = 0;
  for (const std::string& name : files_of(kSource)) {
    const std::string text = contents_of(std::string(kSource) + '/' + name);
    for (const Passage& comment : comments_of(text, comment_style(name, text))) {
      ++comments;
      if (begins_badly(comment.text)) {
        ADD_FAILURE() << name << ':' << comment.line
                      << ": the comment begins with a forbidden word\n"
                      << comment.text;
      }
    }
  }
  EXPECT_GE(comments, 5000) << "the test looks at little";
}

}  // namespace
}  // namespace neuroshard::docs
