#include "core/base/fingerprint.h"

#include <gtest/gtest.h>

namespace neuroshard {
namespace {

TEST(Fingerprint, TellsApartWhereOneTextEnds) {
  Fingerprint ab_c;
  ab_c.add("ab");
  ab_c.add("c");
  Fingerprint a_bc;
  a_bc.add("a");
  a_bc.add("bc");
  EXPECT_NE(ab_c.value(), a_bc.value());
}

TEST(Fingerprint, TextHasAllDigits) {
  EXPECT_EQ(hex_digits(0), "0000000000000000");
  EXPECT_EQ(hex_digits(0xcbf29ce484222325U), "cbf29ce484222325");
}

}  // namespace
}  // namespace neuroshard
