#include "search/c_api/status.h"

#include <array>
#include <cstring>

#include "neuroshard/version.h"

namespace neuroshard::c_api {
namespace {

// The size is fixed, so that keeping a message cannot fail and a thread leaves nothing to be
// destroyed in a library that may have been unloaded. The longest messages are those with two long
// names of files.
constexpr std::size_t kMessageBytes = 4096;
thread_local std::array<char, kMessageBytes> last_message{};

// Not within a character: UTF-8's further bytes are 10xxxxxx.
std::size_t whole_characters(const char* text, std::size_t length) {
  while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80U) --length;
  return length;
}

}  // namespace

ns_status failed(ns_status status, const char* message) noexcept {
  std::size_t length = std::strlen(message);
  if (length >= kMessageBytes) length = whole_characters(message, kMessageBytes - 1);
  std::copy_n(message, length, last_message.begin());
  last_message[length] = '\0';
  return status;
}

ns_status status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidInput:
      return NS_INVALID_INPUT;
    case ErrorKind::kIo:
      return NS_IO;
    case ErrorKind::kBackend:
      return NS_BACKEND;
  }
  return NS_INTERNAL;
}

}  // namespace neuroshard::c_api

int32_t ns_abi_version() { return NS_ABI_VERSION; }

const char* ns_version() { return NEUROSHARD_VERSION; }

const char* ns_last_error() { return neuroshard::c_api::last_message.data(); }
