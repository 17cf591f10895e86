#include "core/fingerprint.h"

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

}  // namespace
}  // namespace neuroshard
