#pragma once

#include <cstdint>
#include <cstring>

#include "core/base/host_device.h"

namespace neuroshard {

/// ln(x) of a normal x > 0, within two units in the last place, by the same operations on every
/// machine: libraries differ in the last bit, and the chains of annealing are to be the same
/// everywhere. x = 2^e m with m between the roots of 1/2 and 2; with s = (m - 1) / (m + 1),
/// ln(m) = 2 artanh(s) = 2 s (1 + s^2 / 3 + s^4 / 5 + ...), where s^2 is at most 0.0295.
NEUROSHARD_HOST_DEVICE inline double natural_log(double x) {
  constexpr std::uint64_t kMantissa = (std::uint64_t{1} << 52) - 1;
  constexpr std::uint64_t kOne = std::uint64_t{1023} << 52;
  constexpr double kLn2High = 0x1.62E42FEE00000p-1;  // 32 bits: times e it is exact.
  constexpr double kLn2Low = 0x1.A39EF35793C76p-33;
  std::uint64_t bits = 0;
  std::memcpy(&bits, &x, sizeof(bits));
  int exponent = static_cast<int>(bits >> 52) - 1023;
  bits = (bits & kMantissa) | kOne;
  double m = 0.0;
  std::memcpy(&m, &bits, sizeof(m));
  if (m > 0x1.6A09E667F3BCDp+0) {
    m *= 0.5;
    ++exponent;
  }
  const double f = m - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double w = z * z;
  // Two sums that do not wait for each other.
  const double even =
      1.0 / 3.0 + w * (1.0 / 7.0 + w * (1.0 / 11.0 + w * (1.0 / 15.0 + w * (1.0 / 19.0))));
  const double odd =
      1.0 / 5.0 + w * (1.0 / 9.0 + w * (1.0 / 13.0 + w * (1.0 / 17.0 + w * (1.0 / 21.0))));
  const double rest = z * (even + z * odd);
  const double e = exponent;
  return e * kLn2High + (2.0 * s + (2.0 * s * rest + e * kLn2Low));
}

}  // namespace neuroshard
