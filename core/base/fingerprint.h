#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace neuroshard {

/// FNV-1a over everything that is put in, for telling work apart.
class Fingerprint {
 public:
  void add(std::string_view bytes);
  /// A number in so many bytes, lowest first: the same on every machine.
  template <unsigned kBytes = 8>
  void add_number(std::uint64_t number) {
    std::array<char, kBytes> bytes{};
    for (char& byte : bytes) {
      byte = static_cast<char>(number & 0xffU);
      number >>= 8;
    }
    add(std::string_view(bytes.data(), bytes.size()));
  }
  /// Numbers, as they are in memory.
  template <typename T>
  requires std::is_arithmetic_v<T>
  void add(std::span<const T> numbers) {
    add(std::string_view(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()));
  }

  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

/// 16 of them: how files hold a fingerprint.
[[nodiscard]] std::string hex_digits(std::uint64_t number);

}  // namespace neuroshard
